package qosaware

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// turns lets the pods that are first by their stamps have the first look at new room.
//
// The scheduler tries a pod that failed again when its back-off ends, so without this a free
// place goes to whoever's back-off ends first. Here, the first attempt that finds more room than
// the attempt before calls the first waiting pods out of their back-off, and makes way if one of
// them goes before it. All is decided from the snapshot that the attempt works with, so it does
// not matter in which order the scheduler and this plugin hear of a change.
type turns struct {
	mu      sync.Mutex
	limit   int
	before  func(a, b *v1.Pod) bool
	current func(*v1.Pod) *v1.Pod // as the informer knows it; nil if it does not wait any more
	waiting map[types.UID]*v1.Pod // tried without success, as far as is known
	rooms   map[string]*room
	fresh   bool // there is more room than the waiting pods have seen
}

// room is what decides whether a node can take more than it could before.
type room struct {
	generation  int64
	pods        int
	cpu, memory int64 // free
	closed      int   // taints, and one more if the node is cordoned
}

func newTurns(limit int, before func(a, b *v1.Pod) bool, current func(*v1.Pod) *v1.Pod) *turns {
	return &turns{
		limit: limit, before: before, current: current,
		waiting: map[types.UID]*v1.Pod{}, rooms: map[string]*room{},
	}
}

// begin notes an attempt. It returns the pods to be called out of their back-off, and whether
// one of them goes before this one. Everybody makes way at most once for the same room.
func (t *turns) begin(pod *v1.Pod, nodes []fwk.NodeInfo) (called []*v1.Pod, makeWay bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look(nodes)
	if t.fresh {
		t.fresh = false
		called = t.first(pod)
		makeWay = len(called) > 0 && t.before(called[0], pod)
	}
	t.waiting[pod.UID] = pod
	return called, makeWay
}

// placed notes that a pod has found its node, which therefore holds one more.
func (t *turns) placed(pod *v1.Pod, node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, pod.UID)
	if known := t.rooms[node]; known != nil {
		known.pods++
	}
}

// first are the pods that wait, in their order, without the one that is being tried.
func (t *turns) first(tried *v1.Pod) []*v1.Pod {
	found := make([]*v1.Pod, 0, len(t.waiting))
	for uid, known := range t.waiting {
		pod := t.current(known)
		if pod == nil {
			delete(t.waiting, uid)
		} else if uid != tried.UID {
			found = append(found, pod)
		}
	}
	slices.SortFunc(found, func(a, b *v1.Pod) int {
		if t.before(a, b) {
			return -1
		}
		return 1
	})
	return found[:min(len(found), t.limit)]
}

// look compares the nodes with what they were at the attempt before. Most have not changed, which
// their generation tells.
func (t *turns) look(nodes []fwk.NodeInfo) {
	for _, node := range nodes {
		if node.Node() == nil {
			continue
		}
		known := t.rooms[node.Node().Name]
		if known != nil && known.generation == node.GetGeneration() {
			continue
		}
		now := roomOf(node)
		if known == nil || now.moreThan(*known) {
			t.fresh = true
		}
		t.rooms[node.Node().Name] = &now
	}
	if len(t.rooms) > len(nodes) {
		t.forgetAllBut(nodes)
	}
}

func (t *turns) forgetAllBut(nodes []fwk.NodeInfo) {
	there := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		if node.Node() != nil {
			there[node.Node().Name] = true
		}
	}
	for name := range t.rooms {
		if !there[name] {
			delete(t.rooms, name)
		}
	}
}

func roomOf(node fwk.NodeInfo) room {
	all, used := node.GetAllocatable(), node.GetRequested()
	closed := len(node.Node().Spec.Taints)
	if node.Node().Spec.Unschedulable {
		closed++
	}
	return room{
		generation: node.GetGeneration(),
		pods:       len(node.GetPods()),
		cpu:        all.GetMilliCPU() - used.GetMilliCPU(),
		memory:     all.GetMemory() - used.GetMemory(),
		closed:     closed,
	}
}

// moreThan counts pods as well, because one may go and another come between two looks, which
// leaves the sums as they were: `placed` has counted the one that came.
func (r room) moreThan(before room) bool {
	return r.pods < before.pods || r.cpu > before.cpu || r.memory > before.memory || r.closed < before.closed
}
