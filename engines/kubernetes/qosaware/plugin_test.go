package qosaware

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func TestArgumentsAreReadStrictly(t *testing.T) {
	all := settings{respectPriority: false, penaltyLimit: 5, triedFirst: 9, bindingsAddress: "127.0.0.1:7"}
	silent := defaults()
	silent.bindingsAddress = ""
	sixth := defaults()
	sixth.bindingsAddress = "[::1]:7"
	for _, row := range []struct {
		name, text, fault string
		want              settings
	}{
		{name: "nothing is all defaults", text: `{}`, want: defaults()},
		{
			name: "everything can be given", want: all,
			text: `{"respectPriority":false,"maxFailurePenaltySeconds":5,"podsTriedFirst":9,"bindingsAddress":"127.0.0.1:7"}`,
		},
		{name: "yaml is as good", text: "respectPriority: false\nmaxFailurePenaltySeconds: 5\npodsTriedFirst: 9\nbindingsAddress: 127.0.0.1:7", want: all},
		{name: "nobody listens", text: `{"bindingsAddress":""}`, want: silent},
		{name: "the loopback of IPv6", text: `{"bindingsAddress":"[::1]:7"}`, want: sixth},
		{name: "a misspelt argument", text: `{"respectPriorities":true}`, fault: `unknown field "respectPriorities"`},
		{name: "another type", text: `{"respectPriority":"yes"}`, fault: "cannot unmarshal string"},
		{name: "a negative penalty", text: `{"maxFailurePenaltySeconds":-1}`, fault: "use 0 to 3600"},
		{name: "an endless penalty", text: `{"maxFailurePenaltySeconds":3601}`, fault: "use 0 to 3600"},
		{name: "fewer than nobody first", text: `{"podsTriedFirst":-1}`, fault: "use 0 to 10000"},
		{name: "everybody could listen", text: `{"bindingsAddress":"0.0.0.0:10001"}`, fault: "not on the loopback"},
		{name: "no host means everybody", text: `{"bindingsAddress":":10001"}`, fault: "not on the loopback"},
		{name: "a name may point anywhere", text: `{"bindingsAddress":"localhost:10001"}`, fault: "not on the loopback"},
		{name: "no port", text: `{"bindingsAddress":"127.0.0.1"}`, fault: "missing port"},
		{name: "port 0", text: `{"bindingsAddress":"127.0.0.1:0"}`, fault: "1 to 65535"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := readArgs(&runtime.Unknown{Raw: []byte(row.text)})
			switch {
			case row.fault == "" && (err != nil || got != row.want):
				t.Fatalf("got %+v, %v", got, err)
			case row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)):
				t.Fatalf("got %v, want an error with %q", err, row.fault)
			}
		})
	}
	if got, err := readArgs(nil); err != nil || got != defaults() {
		t.Fatalf("no arguments: got %+v, %v", got, err)
	}
}

func aPod() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"}}
}

// measured lets exactly a quarter of a second pass between two looks at the clock.
func measured() *QosAware {
	made, at := plugin(nil), time.Unix(1_800_000_000, 0)
	made.now = func() time.Time { at = at.Add(250 * time.Millisecond); return at }
	return made
}

func TestPreBindIsSkippedSoThatNoNodeIsAnnounced(t *testing.T) {
	_, status := plugin(nil).PreBindPreFlight(t.Context(), framework.NewCycleState(), aPod(), "node-1")
	if !status.IsSkip() {
		t.Fatalf("got %v: the scheduler would write nominatedNodeName for every pod", status)
	}
}

func TestABindingLastsFromThePreFlightToPostBind(t *testing.T) {
	for _, row := range []struct {
		name  string
		begin func(*QosAware, fwk.CycleState)
		end   func(*QosAware, fwk.CycleState)
		want  result
	}{
		{"bound", preFlight, postBind, bound},
		{"bound without pre-flight", preBind, postBind, bound},
		{"failed", preFlight, unreserve, failed},
	} {
		t.Run(row.name, func(t *testing.T) {
			made, state := measured(), framework.NewCycleState()
			row.begin(made, state)
			row.end(made, state)
			got := made.recent.since(0).Bindings
			if len(got) != 1 {
				t.Fatalf("got %d bindings", len(got))
			}
			want := binding{Seq: 1, UID: "u", Namespace: "n", Name: "p", Node: "node-1", Result: row.want,
				Start: got[0].Start, End: got[0].Start.Add(250 * time.Millisecond), Seconds: 0.25}
			if got[0] != want {
				t.Fatalf("got %+v, want %+v", got[0], want)
			}
		})
	}
}

func TestAPodThatWasTurnedDownBeforeItsBindingIsNone(t *testing.T) {
	made, state := measured(), framework.NewCycleState()
	unreserve(made, state)
	preFlight(made, state)
	postBind(made, state)
	unreserve(made, state) // after the end there is nothing to end
	if got := made.recent.since(0).Bindings; len(got) != 1 || got[0].Result != bound {
		t.Fatalf("got %+v", got)
	}
}

func preFlight(p *QosAware, s fwk.CycleState) {
	p.PreBindPreFlight(context.Background(), s, aPod(), "node-1")
}
func preBind(p *QosAware, s fwk.CycleState)   { p.PreBind(context.Background(), s, aPod(), "node-1") }
func postBind(p *QosAware, s fwk.CycleState)  { p.PostBind(context.Background(), s, aPod(), "node-1") }
func unreserve(p *QosAware, s fwk.CycleState) { p.Unreserve(context.Background(), s, aPod(), "node-1") }

func TestReadersGetWhatIsNewAndSeeWhatTheyMissed(t *testing.T) {
	list := newBindings(time.Unix(1_800_000_000, 0))
	for range kept + 10 {
		list.add(binding{})
	}
	for _, row := range []struct {
		name         string
		from         uint64
		first, count uint64
	}{
		{"from the beginning: the oldest that is left", 0, 11, kept},
		{"a gap shows in the numbers", 5, 11, kept},
		{"the newest", kept + 9, kept + 9, 2},
		{"nothing new", kept + 11, 0, 0},
		{"a number from before a restart", kept + 500, 11, kept},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := list.since(row.from)
			if got.Next != kept+11 || uint64(len(got.Bindings)) != row.count {
				t.Fatalf("got %d bindings, next %d", len(got.Bindings), got.Next)
			}
			for i, each := range got.Bindings {
				if each.Seq != row.first+uint64(i) {
					t.Fatalf("entry %d has number %d", i, each.Seq)
				}
			}
		})
	}
}

func TestBindingsAreToldAsJSON(t *testing.T) {
	made, state := measured(), framework.NewCycleState()
	preFlight(made, state)
	postBind(made, state)
	server := httptest.NewServer(handler(made.recent))
	defer server.Close()
	var got map[string]any
	if err := json.Unmarshal([]byte(fetch(t, server.URL+"/bindings?since=1", 200)), &got); err != nil {
		t.Fatal(err)
	}
	entry := got["bindings"].([]any)[0].(map[string]any)
	if entry["seconds"] != 0.25 || entry["result"] != "bound" || entry["uid"] != "u" || got["next"] != 2.0 {
		t.Fatalf("got %v", got)
	}
	if _, err := time.Parse(time.RFC3339Nano, got["started"].(string)); err != nil {
		t.Fatal(err)
	}
	if text := fetch(t, server.URL+"/bindings?since=2", 200); !strings.Contains(text, `"bindings":[]`) {
		t.Fatalf("an empty list is a list: %s", text)
	}
	fetch(t, server.URL+"/bindings?since=-1", 400)
	fetch(t, server.URL+"/other", 404)
	answer, err := http.Post(server.URL+"/bindings", "", nil)
	if err != nil || answer.StatusCode != http.StatusMethodNotAllowed {
		t.Fatalf("got %v, %v", answer, err)
	}
}

func TestProfilesShareOnePortAndATakenOneIsAnError(t *testing.T) {
	address := freeAddress(t)
	args := &runtime.Unknown{Raw: fmt.Appendf(nil, `{"bindingsAddress":%q}`, address)}
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		if _, err := New(ctx, args, nil); err != nil {
			t.Fatal(err)
		}
	}
	fetch(t, "http://"+address+"/bindings", 200)
	cancel()
	taken := awaitFree(t, address)
	defer taken.Close()
	if _, err := New(t.Context(), args, nil); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Fatalf("got %v", err)
	}
}

func TestTheHistogramIsAmongTheSchedulersSeries(t *testing.T) {
	args := &runtime.Unknown{Raw: []byte(`{"bindingsAddress":""}`)}
	if _, err := New(t.Context(), args, nil); err != nil {
		t.Fatal(err)
	}
	observe(bound, 3*time.Millisecond)
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "qosaware_bind_duration_seconds" {
			return
		}
	}
	t.Fatal("qosaware_bind_duration_seconds is not registered")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// awaitFree takes the port as soon as the plugin has given it back.
func awaitFree(t *testing.T, address string) net.Listener {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		listener, err := net.Listen("tcp", address)
		servingMu.Lock()
		forgotten := !serving[address]
		servingMu.Unlock()
		if err == nil && forgotten {
			return listener
		}
		if err == nil {
			listener.Close()
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the port was not given back")
	return nil
}

func fetch(t *testing.T, url string, status int) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Fatalf("%s: got %d, %v: %s", url, answer.StatusCode, err, body)
	}
	return string(body)
}
