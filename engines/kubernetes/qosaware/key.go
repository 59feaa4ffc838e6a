package qosaware

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
)

// KeyAnnotation holds the stamp: "v1:<tier>:<rank, 6 digits>:<deadline ns, 20 digits>".
const KeyAnnotation = "qos.trimtab.dev/key"

const (
	stampLength = len("v1:0:000000:00000000000000000000")
	lastTier    = 2
	defaultTier = 0
	defaultRank = 200000 // of SLO 0.80, the SLO of whoever declares none

	// A deadline has 20 digits, which is more than 64 bits hold. Cut into 11 digits of
	// seconds and 9 of nanoseconds it fits, and penalties are whole seconds.
	largestSeconds = 99_999_999_999
	largestNanos   = 999_999_999
)

// key is what a stamp says, in the order in which it is compared; the smaller one goes first.
type key struct {
	tier    uint64
	rank    uint64
	seconds uint64
	nanos   uint64
}

// parse reads a stamp. It accepts exactly one spelling of every key, so that the stamps'
// bytes sort as the keys do.
func parse(stamp string) (key, bool) {
	if len(stamp) != stampLength || stamp[:3] != "v1:" || stamp[4] != ':' || stamp[11] != ':' {
		return key{}, false
	}
	tier, okTier := digits(stamp[3:4])
	rank, okRank := digits(stamp[5:11])
	seconds, okSeconds := digits(stamp[12:23])
	nanos, okNanos := digits(stamp[23:32])
	ok := okTier && okRank && okSeconds && okNanos && tier <= lastTier
	return key{tier, rank, seconds, nanos}, ok
}

func digits(text string) (uint64, bool) {
	var value uint64
	for i := 0; i < len(text); i++ {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		value = value*10 + uint64(digit)
	}
	return value, true
}

// keyOf is the pod's stamp, or, if it has none that can be read, the key of somebody with the
// default SLO who never ran: urgent, and due since it was created.
func keyOf(pod *v1.Pod) key {
	if stamped, ok := parse(pod.Annotations[KeyAnnotation]); ok {
		return stamped
	}
	seconds, nanos := sinceEpoch(pod.CreationTimestamp.Time)
	return key{defaultTier, defaultRank, seconds, nanos}
}

func sinceEpoch(at time.Time) (seconds, nanos uint64) {
	if at.Unix() < 0 {
		return 0, 0
	}
	return uint64(at.Unix()), uint64(at.Nanosecond())
}

// later is the key with its deadline moved by a penalty; no deadline is later than the largest.
func (k key) later(penalty uint64) key {
	k.seconds += penalty
	if k.seconds > largestSeconds {
		k.seconds, k.nanos = largestSeconds, largestNanos
	}
	return k
}

func (k key) compare(other key) int {
	return cmp.Or(
		cmp.Compare(k.tier, other.tier),
		cmp.Compare(k.rank, other.rank),
		cmp.Compare(k.seconds, other.seconds),
		cmp.Compare(k.nanos, other.nanos),
	)
}

// penalty is min(2^failures, limit) seconds, and nothing before the first failure. Without it
// urgent pods that fit nowhere would be tried again and again before everybody else.
func penalty(failures int, limit uint64) uint64 {
	switch {
	case failures < 1:
		return 0
	case failures > 62:
		return limit
	default:
		return min(uint64(1)<<failures, limit)
	}
}
