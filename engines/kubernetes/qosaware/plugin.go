// Package qosaware is the scheduler plugin QosAware: it serves first whoever would miss its
// promised availability soonest, and measures how long bindings take.
//
// Who that is was decided elsewhere and stamped on the pod as an annotation. This plugin only
// compares stamps, so a restarted scheduler knows as much as before, and a comparison needs no
// clock, no lock and no I/O. At preFilter it sees to it that back-off does not decide instead.
package qosaware

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"trimtab.dev/engines/kubernetes/qosaware/stamp"
)

// Name is the plugin's name in a profile.
const Name = "QosAware"

const startKey fwk.StateKey = Name + "/start"

// QosAware is one profile's instance; all instances of a process share one list of bindings.
type QosAware struct {
	settings settings
	recent   *bindings
	turns    *turns
	activate func(klog.Logger, map[string]*v1.Pod)
	now      func() time.Time
}

var (
	_ fwk.QueueSortPlugin   = &QosAware{}
	_ fwk.PreFilterPlugin   = &QosAware{}
	_ fwk.EnqueueExtensions = &QosAware{}
	_ fwk.SignPlugin        = &QosAware{}
	_ fwk.PreBindPlugin     = &QosAware{}
	_ fwk.PostBindPlugin    = &QosAware{}
	_ fwk.ReservePlugin     = &QosAware{}
)

// New makes the plugin of one profile and lets the bindings be read where its arguments say.
func New(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	chosen, err := readArgs(args)
	if err != nil {
		return nil, err
	}
	registerMetrics()
	if err := serve(ctx, chosen.bindingsAddress, shared); err != nil {
		return nil, err
	}
	klog.FromContext(ctx).V(2).Info("Queue is ordered by promised availability", "plugin", Name,
		"respectPriority", chosen.respectPriority, "maxFailurePenaltySeconds", chosen.penaltyLimit,
		"podsTriedFirst", chosen.triedFirst, "bindingsAddress", chosen.bindingsAddress)
	made := &QosAware{settings: chosen, recent: shared, now: time.Now}
	if handle != nil {
		made.activate = handle.Activate
		made.turns = sharedTurns(chosen, handle)
	}
	return made, nil
}

// Name returns the plugin's name.
func (*QosAware) Name() string { return Name }

// Less says whether a is to be scheduled before b: by priority, stamp with penalty, creation
// and uid. Every pod differs from every other, and a pod's place depends on nothing but itself.
func (p *QosAware) Less(a, b fwk.QueuedPodInfo) bool {
	limit := p.settings.penaltyLimit
	return p.settings.before(a.GetPodInfo().GetPod(), b.GetPodInfo().GetPod(),
		stamp.Penalty(a.GetAttempts(), limit), stamp.Penalty(b.GetAttempts(), limit))
}

// before compares two pods with what failed attempts add to their deadlines.
func (s settings) before(first, second *v1.Pod, firstPenalty, secondPenalty uint64) bool {
	if s.respectPriority {
		if x, y := corev1helpers.PodPriority(first), corev1helpers.PodPriority(second); x != y {
			return x > y
		}
	}
	x, y := keyOf(first).Later(firstPenalty), keyOf(second).Later(secondPenalty)
	if order := x.Compare(y); order != 0 {
		return order < 0
	}
	if order := first.CreationTimestamp.Time.Compare(second.CreationTimestamp.Time); order != 0 {
		return order < 0
	}
	return first.UID < second.UID
}

func keyOf(pod *v1.Pod) stamp.Key {
	return stamp.Of(pod.Annotations[stamp.Annotation], pod.CreationTimestamp.Time)
}

// start is kept in the cycle's state, so that a pod that is never bound leaves nothing behind.
type start struct{ at time.Time }

func (s *start) Clone() fwk.StateData { return s }

// PreBindPreFlight takes the binding's start. Skip says that there is nothing to do in PreBind:
// otherwise the scheduler would announce the node in the pod's status first, one write more for
// every pod.
func (p *QosAware) PreBindPreFlight(
	_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string,
) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	state.Write(startKey, &start{p.now()})
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, fwk.NewStatus(fwk.Skip)
}

// PreBind is called only where the feature gate NominatedNodeNameForExpectation is off, which
// leaves out the pre-flight.
func (p *QosAware) PreBind(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	state.Write(startKey, &start{p.now()})
	return nil
}

// PostBind ends a binding that succeeded.
func (p *QosAware) PostBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	p.finish(ctx, state, pod, node, bound)
}

// Reserve notes that the pod has a node; it also belongs to Unreserve.
func (p *QosAware) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if p.turns != nil {
		p.turns.placed(pod, node)
	}
	return nil
}

// Unreserve ends a binding that failed. It is called only if the profile enables the plugin at
// the extension point reserve; without that, failed bindings are not counted.
func (p *QosAware) Unreserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	p.finish(ctx, state, pod, node, failed)
}

func (p *QosAware) finish(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string, outcome result,
) {
	data, err := state.Read(startKey)
	if err != nil {
		return // it was turned down before the binding began
	}
	began := data.(*start).at
	state.Delete(startKey)
	end := p.now()
	observe(outcome, end.Sub(began))
	p.recent.add(binding{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name, Node: node,
		Result: outcome, Start: began, End: end, Seconds: end.Sub(began).Seconds(),
	})
	klog.FromContext(ctx).V(4).Info("Binding ended", "plugin", Name, "pod", klog.KObj(pod), "node", node,
		"result", outcome, "duration", end.Sub(began), "key", pod.Annotations[stamp.Annotation])
}
