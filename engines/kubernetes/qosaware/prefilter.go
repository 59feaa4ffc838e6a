package qosaware

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

const madeWay = "pods that were promised more, or wait for longer, are tried first"

// PreFilter begins an attempt: if there is more room than at the attempt before, the first
// waiting pods are tried before everybody else, whatever their back-off.
//
// A pod that makes way is activated too, so that it is tried again after them and not only when
// something else happens. It may not preempt anybody meanwhile: hence "unresolvable".
func (p *QosAware) PreFilter(
	ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	if p.turns == nil || p.settings.triedFirst == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	called, makeWay := p.turns.begin(pod, nodes)
	if makeWay {
		called = append(called, pod)
	}
	if len(called) > 0 {
		p.activate(klog.FromContext(ctx), byName(called))
	}
	if makeWay {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, madeWay)
	}
	return nil, fwk.NewStatus(fwk.Skip)
}

func byName(pods []*v1.Pod) map[string]*v1.Pod {
	named := make(map[string]*v1.Pod, len(pods))
	for _, pod := range pods {
		named[pod.Namespace+"/"+pod.Name] = pod
	}
	return named
}

// PreFilterExtensions returns nil: other pods on a node change nothing about whose turn it is.
func (*QosAware) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// EventsToRegister names what brings back a pod that made way, should its activation get lost.
func (*QosAware) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	freed := fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}
	return []fwk.ClusterEventWithHint{{Event: freed}}, nil
}

// SignPod adds nothing: the stamp says when a pod is tried, not where it fits. Without this
// method the scheduler could not reuse its results for pods that are alike.
func (*QosAware) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return nil, nil
}

var (
	turnsMu  sync.Mutex
	theTurns *turns
)

// sharedTurns belong to the process: all profiles share one queue.
func sharedTurns(chosen settings, handle fwk.Handle) *turns {
	turnsMu.Lock()
	defer turnsMu.Unlock()
	if theTurns == nil {
		before := func(a, b *v1.Pod) bool { return chosen.before(a, b, 0, 0) }
		theTurns = newTurns(chosen.triedFirst, before, waitingNow(handle))
	}
	return theTurns
}

// waitingNow reads the informer's cache, where a pod has its newest stamp.
func waitingNow(handle fwk.Handle) func(*v1.Pod) *v1.Pod {
	pods := handle.SharedInformerFactory().Core().V1().Pods().Lister()
	return func(known *v1.Pod) *v1.Pod {
		pod, err := pods.Pods(known.Namespace).Get(known.Name)
		if err != nil || pod.UID != known.UID || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			return nil
		}
		return pod
	}
}
