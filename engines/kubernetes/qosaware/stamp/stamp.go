// Package stamp reads what was stamped on a pod and says which of two stamps comes first.
//
// It knows nothing of Kubernetes: strings, times and numbers only.
package stamp

import (
	"cmp"
	"time"
)

// Annotation holds the stamp: "v1:<tier>:<rank, 6 digits>:<deadline ns, 20 digits>".
const Annotation = "qos.trimtab.dev/key"

const (
	length      = len("v1:0:000000:00000000000000000000")
	lastTier    = 2
	defaultTier = 0
	DefaultRank = 200000 // of SLO 0.80, the SLO of whoever declares none

	// A deadline has 20 digits, which is more than 64 bits hold. Cut into 11 digits of
	// seconds and 9 of nanoseconds it fits, and penalties are whole seconds.
	largestSeconds = 99_999_999_999
	largestNanos   = 999_999_999
)

// Key is what a stamp says, in the order in which it is compared; the smaller one goes first.
type Key struct {
	tier    uint64
	rank    uint64
	seconds uint64
	nanos   uint64
}

// Parse reads a stamp. It accepts exactly one spelling of every key, so that the stamps'
// bytes sort as the keys do.
func Parse(stamp string) (Key, bool) {
	if len(stamp) != length || stamp[:3] != "v1:" || stamp[4] != ':' || stamp[11] != ':' {
		return Key{}, false
	}
	tier, okTier := digits(stamp[3:4])
	rank, okRank := digits(stamp[5:11])
	seconds, okSeconds := digits(stamp[12:23])
	nanos, okNanos := digits(stamp[23:32])
	ok := okTier && okRank && okSeconds && okNanos && tier <= lastTier
	return Key{tier, rank, seconds, nanos}, ok
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

// Of is the key that the annotation says, or, if it cannot be read, the key of somebody with the
// default SLO who never ran: urgent, and due since it was created.
func Of(annotation string, created time.Time) Key {
	if stamped, ok := Parse(annotation); ok {
		return stamped
	}
	seconds, nanos := sinceEpoch(created)
	return Key{defaultTier, DefaultRank, seconds, nanos}
}

func sinceEpoch(at time.Time) (seconds, nanos uint64) {
	if at.Unix() < 0 {
		return 0, 0
	}
	return uint64(at.Unix()), uint64(at.Nanosecond())
}

// Later is the key with its deadline moved by a penalty; no deadline is later than the largest.
func (k Key) Later(penalty uint64) Key {
	k.seconds += penalty
	if k.seconds > largestSeconds {
		k.seconds, k.nanos = largestSeconds, largestNanos
	}
	return k
}

// Compare is negative if k comes before other.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.tier, other.tier),
		cmp.Compare(k.rank, other.rank),
		cmp.Compare(k.seconds, other.seconds),
		cmp.Compare(k.nanos, other.nanos),
	)
}

// Penalty is min(2^failures, limit) seconds, and nothing before the first failure. Without it
// urgent pods that fit nowhere would be tried again and again before everybody else.
func Penalty(failures int, limit uint64) uint64 {
	switch {
	case failures < 1:
		return 0
	case failures > 62:
		return limit
	default:
		return min(uint64(1)<<failures, limit)
	}
}
