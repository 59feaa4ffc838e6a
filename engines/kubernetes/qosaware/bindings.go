package qosaware

import (
	"sync"
	"time"
)

type result string

const (
	bound  result = "bound"
	failed result = "failed"

	kept = 4096
)

// binding is one entry of the list that readers merge into their accounts.
type binding struct {
	Seq       uint64    `json:"seq"`
	UID       string    `json:"uid"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Node      string    `json:"node"`
	Result    result    `json:"result"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Seconds   float64   `json:"seconds"` // by the monotonic clock, which End minus Start is not
}

// bindings are the newest of a process, numbered from 1. A reader who sees another Started, or
// a gap in the numbers, knows that it has missed some.
type bindings struct {
	mu      sync.Mutex
	started time.Time
	next    uint64
	ring    [kept]binding
}

// shared belongs to the process: profiles differ in their arguments, not in who is asked.
var shared = newBindings(time.Now())

func newBindings(started time.Time) *bindings { return &bindings{started: started, next: 1} }

func (b *bindings) add(entry binding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry.Seq = b.next
	b.ring[entry.Seq%kept] = entry
	b.next++
}

// answer is what a reader gets; Next is what it asks for the time after.
type answer struct {
	Started  time.Time `json:"started"`
	Next     uint64    `json:"next"`
	Bindings []binding `json:"bindings"`
}

// since copies the entries from number `from` on. A number from the future can only come from
// the time before a restart, so it gets everything.
func (b *bindings) since(from uint64) answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := uint64(1)
	if b.next > kept {
		oldest = b.next - kept
	}
	if from < oldest || from > b.next {
		from = oldest
	}
	found := make([]binding, 0, b.next-from)
	for seq := from; seq < b.next; seq++ {
		found = append(found, b.ring[seq%kept])
	}
	return answer{Started: b.started, Next: b.next, Bindings: found}
}
