package qosaware

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"trimtab.dev/engines/kubernetes/qosaware/stamp"
)

// cluster is one node with a plugin that looks at it, and who was called out of back-off.
type cluster struct {
	node    *framework.NodeInfo
	plugin  *QosAware
	gone    map[types.UID]bool
	renewed map[types.UID]*v1.Pod
	called  []string
}

func newCluster(limit int, running ...*v1.Pod) *cluster {
	made := &cluster{
		node: framework.NewNodeInfo(), gone: map[types.UID]bool{}, renewed: map[types.UID]*v1.Pod{},
	}
	made.setNode(func(*v1.Node) {})
	for _, pod := range running {
		made.node.AddPod(pod)
	}
	made.plugin = plugin(func(s *settings) { s.triedFirst = limit })
	before := func(a, b *v1.Pod) bool { return made.plugin.settings.before(a, b, 0, 0) }
	made.plugin.turns = newTurns(limit, before, func(known *v1.Pod) *v1.Pod {
		if made.gone[known.UID] {
			return nil
		}
		if newer := made.renewed[known.UID]; newer != nil {
			return newer
		}
		return known
	})
	made.plugin.activate = func(_ klog.Logger, pods map[string]*v1.Pod) {
		made.called = slices.Sorted(maps.Keys(pods))
	}
	return made
}

func (c *cluster) setNode(change func(*v1.Node)) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("10"), v1.ResourcePods: resource.MustParse("110"),
	}
	change(node)
	c.node.SetNode(node)
}

// try is an attempt: whether the pod makes way, and who is called.
func (c *cluster) try(t *testing.T, pod *v1.Pod) (bool, []string) {
	t.Helper()
	c.called = nil
	_, status := c.plugin.PreFilter(t.Context(), framework.NewCycleState(), pod, []fwk.NodeInfo{c.node})
	if !status.IsSkip() && status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Fatalf("unexpected status %v", status)
	}
	return !status.IsSkip(), c.called
}

func (c *cluster) mustTry(t *testing.T, pod *v1.Pod, makesWay bool, called ...string) {
	t.Helper()
	if way, who := c.try(t, pod); way != makesWay || !slices.Equal(who, called) {
		t.Fatalf("%s: makes way %v, called %v; want %v, %v", pod.Name, way, who, makesWay, called)
	}
}

func waiter(name string, deadline int) *v1.Pod {
	key := fmt.Sprintf("v1:0:000000:%020d", deadline)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(1, 0)),
			Annotations: map[string]string{stamp.Annotation: key},
		},
		Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
		}}}},
	}
}

func (c *cluster) free(t *testing.T, pod *v1.Pod) {
	t.Helper()
	if err := c.node.RemovePod(klog.Background(), pod); err != nil {
		t.Fatal(err)
	}
}

func TestWhoeverIsFirstIsTriedFirstWhenAPlaceIsFree(t *testing.T) {
	runs, gold, bronze := waiter("runs", 0), waiter("gold", 1), waiter("bronze", 2)
	c := newCluster(64, runs)
	c.mustTry(t, gold, false)
	c.mustTry(t, bronze, false)
	c.free(t, runs)
	c.mustTry(t, bronze, true, "n/bronze", "n/gold")
	c.mustTry(t, gold, false)
	c.plugin.Reserve(t.Context(), nil, gold, "node-1")
	c.node.AddPod(gold)
	c.mustTry(t, bronze, false)
}

func TestTheFirstDoesNotMakeWayAndTheOthersFollowInTheirOrder(t *testing.T) {
	runs, gold, bronze := waiter("runs", 0), waiter("gold", 1), waiter("bronze", 2)
	c := newCluster(64, runs)
	c.mustTry(t, bronze, false)
	c.mustTry(t, gold, false)
	c.free(t, runs)
	c.mustTry(t, gold, false, "n/bronze")
}

func TestAPlaceThatIsFreedAndFilledBetweenTwoLooksIsSeen(t *testing.T) {
	runs, first, gold, bronze := waiter("runs", 0), waiter("first", 0), waiter("gold", 1), waiter("bronze", 2)
	c := newCluster(64, runs)
	c.mustTry(t, gold, false)
	c.mustTry(t, bronze, false)
	c.mustTry(t, first, false)
	c.plugin.Reserve(t.Context(), nil, first, "node-1") // this attempt had room
	c.node.AddPod(first)
	c.free(t, runs)
	c.mustTry(t, bronze, true, "n/bronze", "n/gold")
}

func TestNobodyMakesWayTwiceForTheSameRoom(t *testing.T) {
	runs, gold, bronze := waiter("runs", 0), waiter("gold", 1), waiter("bronze", 2)
	c := newCluster(64, runs)
	c.mustTry(t, gold, false)
	c.free(t, runs)
	c.mustTry(t, bronze, true, "n/bronze", "n/gold")
	c.mustTry(t, bronze, false) // gold was called and did not come: perhaps it is gated by now
}

func TestOnlySoManyAreCalledForOnePlace(t *testing.T) {
	runs := waiter("runs", 0)
	c := newCluster(2, runs)
	for i := range 5 {
		c.mustTry(t, waiter(fmt.Sprintf("w%d", i), 10-i), false)
	}
	c.free(t, runs)
	c.mustTry(t, waiter("new", 9), true, "n/new", "n/w3", "n/w4")
}

func TestThoseWhoAreGoneAreForgottenAndNewStampsCount(t *testing.T) {
	runs, gold, silver, bronze := waiter("runs", 0), waiter("gold", 1), waiter("silver", 2), waiter("bronze", 3)
	c := newCluster(64, runs)
	for _, pod := range []*v1.Pod{gold, silver, bronze} {
		c.mustTry(t, pod, false)
	}
	c.gone["gold"] = true
	c.renewed["bronze"] = waiter("bronze", 0)
	c.free(t, runs)
	c.mustTry(t, silver, true, "n/bronze", "n/silver")
	if _, kept := c.plugin.turns.waiting["gold"]; kept {
		t.Fatal("a pod that is gone is still remembered")
	}
}

func TestRoomIsMoreWhereANodeGrowsOrOpensAndNotWhereItOnlyChanges(t *testing.T) {
	taint := v1.Taint{Key: "k", Effect: v1.TaintEffectNoSchedule}
	for _, row := range []struct {
		name        string
		first, then func(*v1.Node)
		more        bool
	}{
		{"a heartbeat", func(*v1.Node) {}, func(n *v1.Node) { n.ResourceVersion = "2" }, false},
		{"more cores", func(*v1.Node) {},
			func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("11") }, true},
		{"fewer cores", func(*v1.Node) {},
			func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("9") }, false},
		{"cordoned", func(*v1.Node) {}, func(n *v1.Node) { n.Spec.Unschedulable = true }, false},
		{"uncordoned", func(n *v1.Node) { n.Spec.Unschedulable = true }, func(*v1.Node) {}, true},
		{"a taint less", func(n *v1.Node) { n.Spec.Taints = []v1.Taint{taint} }, func(*v1.Node) {}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			gold, bronze := waiter("gold", 1), waiter("bronze", 2)
			c := newCluster(64)
			c.setNode(row.first)
			c.mustTry(t, gold, false)
			c.setNode(row.then)
			if way, _ := c.try(t, bronze); way != row.more {
				t.Fatalf("makes way: %v", way)
			}
		})
	}
}

func TestWithNobodyToBeTriedFirstTheQueueIsLeftAlone(t *testing.T) {
	runs, gold := waiter("runs", 0), waiter("gold", 1)
	c := newCluster(0, runs)
	c.mustTry(t, gold, false)
	c.free(t, runs)
	c.mustTry(t, waiter("bronze", 2), false)
}

func BenchmarkPreFilter(b *testing.B) {
	c := newCluster(64)
	nodes := make([]fwk.NodeInfo, 1000)
	for i := range nodes {
		node := framework.NewNodeInfo()
		node.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
		nodes[i] = node
	}
	pod, state := waiter("gold", 1), framework.NewCycleState()
	b.ReportAllocs()
	for b.Loop() {
		c.plugin.PreFilter(b.Context(), state, pod, nodes)
	}
}
