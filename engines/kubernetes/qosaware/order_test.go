package qosaware

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"trimtab.dev/engines/kubernetes/qosaware/stamp"
)

// vectors are shared with the Python side, which makes the stamps.
type vectors struct {
	Less []struct {
		A, B            queued
		Less            bool   `json:"less"`
		Why             string `json:"why"`
		RespectPriority *bool  `json:"respectPriority"`
	} `json:"less"`
}

type queued struct {
	Priority *int32    `json:"priority"`
	Key      *string   `json:"key"`
	Creation time.Time `json:"creation"`
	UID      string    `json:"uid"`
	Attempts int       `json:"attempts"`
}

func (q queued) info() fwk.QueuedPodInfo {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Namespace: "n", UID: types.UID(q.UID), CreationTimestamp: metav1.NewTime(q.Creation),
		Annotations: map[string]string{"app": "x", "qos.trimtab.dev/slo": "0.9"},
	}}
	if q.Key != nil {
		pod.Annotations[stamp.Annotation] = *q.Key
	}
	pod.Spec.Priority = q.Priority
	return &framework.QueuedPodInfo{PodInfo: &framework.PodInfo{Pod: pod}, Attempts: q.Attempts}
}

func golden(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Less) == 0 {
		t.Fatal("the vectors are incomplete")
	}
	return all
}

func plugin(change func(*settings)) *QosAware {
	chosen := defaults()
	if change != nil {
		change(&chosen)
	}
	return &QosAware{settings: chosen, recent: newBindings(time.Now()), now: time.Now}
}

func withPenalty(s *settings) { s.penaltyLimit = 60 }

func TestTheOrderIsTheOneBothLanguagesAgreedOn(t *testing.T) {
	for _, row := range golden(t).Less {
		t.Run(row.Why, func(t *testing.T) {
			sorter := plugin(func(s *settings) {
				s.respectPriority = row.RespectPriority == nil || *row.RespectPriority
				s.penaltyLimit = 60
			})
			if got := sorter.Less(row.A.info(), row.B.info()); got != row.Less {
				t.Fatalf("got %v for %+v and %+v", got, row.A, row.B)
			}
		})
	}
}

func TestWithoutALimitForPenaltiesFailuresDoNotCount(t *testing.T) {
	mark := "v1:1:000000:01800000000000000000"
	failing := queued{Key: &mark, UID: "a", Attempts: 9}
	patient := queued{Key: &mark, UID: "b"}
	if !plugin(nil).Less(failing.info(), patient.info()) {
		t.Fatal("the uid should decide: by default nobody is put behind for having been tried")
	}
	if plugin(withPenalty).Less(failing.info(), patient.info()) {
		t.Fatal("whoever asks for a penalty gets one")
	}
}

// Of two different pods exactly one goes first, and the order never runs in a circle, whatever
// their annotations say. Few values for each part, so that ties are frequent.
func TestTheOrderIsTotal(t *testing.T) {
	random, sorter := rand.New(rand.NewPCG(1, 2)), plugin(withPenalty)
	stamps := []string{
		"", "x", "v1:0:000000:01800000000000000000", "v1:0:000000:01800000002000000000",
		"v1:0:200000:01800000001000000000", "v1:1:000000:01800000000000000000",
		"v1:2:000000:99999999999999999999", "v1:2:000000:99999999990000000000",
	}
	draw := func(uid string) fwk.QueuedPodInfo {
		priority := random.Int32N(2)
		return queued{
			Key: &stamps[random.IntN(len(stamps))], UID: uid, Priority: &priority,
			Creation: time.Unix(1_800_000_000+random.Int64N(3), 0), Attempts: random.IntN(8),
		}.info()
	}
	for range 20_000 {
		x, y, z := draw("a"), draw("b"), draw("c")
		for _, pair := range [][2]fwk.QueuedPodInfo{{x, y}, {y, z}, {x, z}} {
			if sorter.Less(pair[0], pair[1]) == sorter.Less(pair[1], pair[0]) {
				t.Fatalf("neither or both go first: %v", pair)
			}
		}
		if sorter.Less(x, x) {
			t.Fatalf("a pod goes before itself: %v", x)
		}
		if sorter.Less(x, y) && sorter.Less(y, z) && !sorter.Less(x, z) {
			t.Fatalf("the order runs in a circle: %v %v %v", x, y, z)
		}
	}
}

// The queue's own lock is held while Less runs, so whatever it waited for would stop scheduling.
func TestLessLooksAtNoClockTakesNoLockAndAllocatesNothing(t *testing.T) {
	sorter := plugin(withPenalty)
	sorter.now = func() time.Time { panic("a look at the clock") }
	sorter.recent.mu.Lock()
	defer sorter.recent.mu.Unlock()
	servingMu.Lock()
	defer servingMu.Unlock()
	turnsMu.Lock()
	defer turnsMu.Unlock()
	mark := "v1:0:100000:01800000000000000000"
	for _, row := range [][2]queued{
		{{Key: &mark, UID: "a", Attempts: 3}, {Key: &mark, UID: "b"}},
		{{UID: "a"}, {UID: "b", Attempts: 9}},
	} {
		first, second := row[0].info(), row[1].info()
		if count := testing.AllocsPerRun(100, func() { sorter.Less(first, second) }); count != 0 {
			t.Fatalf("%v allocations", count)
		}
	}
}

func BenchmarkLess(b *testing.B) {
	early, late := "v1:0:100000:01800000000000000000", "v1:0:100000:01800000000000000009"
	stamped := [2]fwk.QueuedPodInfo{queued{Key: &early, UID: "a"}.info(), queued{Key: &late, UID: "b"}.info()}
	tried := [2]fwk.QueuedPodInfo{
		queued{Key: &early, UID: "a", Attempts: 3}.info(), queued{Key: &late, UID: "b", Attempts: 7}.info(),
	}
	unstamped := [2]fwk.QueuedPodInfo{queued{UID: "a"}.info(), queued{UID: "b"}.info()}
	for name, pair := range map[string][2]fwk.QueuedPodInfo{
		"stamped": stamped, "tried": tried, "unstamped": unstamped,
	} {
		b.Run(name, func(b *testing.B) {
			sorter := plugin(nil)
			b.ReportAllocs()
			for b.Loop() {
				sorter.Less(pair[0], pair[1])
			}
		})
	}
}
