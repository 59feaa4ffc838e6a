package stamp

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// vectors are shared with the plugin and with the Python side, which makes the stamps.
type vectors struct {
	Keys []struct {
		Text     string `json:"text"`
		Valid    bool   `json:"valid"`
		Tier     uint64 `json:"tier"`
		Rank     uint64 `json:"rank"`
		Deadline string `json:"deadline"`
		Why      string `json:"why"`
	} `json:"keys"`
	Ranks []struct {
		SLO  float64 `json:"slo"`
		Rank uint64  `json:"rank"`
	} `json:"ranks"`
}

func golden(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Keys) == 0 || len(all.Ranks) == 0 {
		t.Fatal("the vectors are incomplete")
	}
	return all
}

func TestStampsAreReadAsBothLanguagesAgreed(t *testing.T) {
	for _, row := range golden(t).Keys {
		t.Run(fmt.Sprintf("%q %s", row.Text, row.Why), func(t *testing.T) {
			got, ok := Parse(row.Text)
			if ok != row.Valid {
				t.Fatalf("valid: got %v, want %v", ok, row.Valid)
			}
			if !ok {
				return
			}
			deadline := fmt.Sprintf("%011d%09d", got.seconds, got.nanos)
			if got.tier != row.Tier || got.rank != row.Rank || deadline != row.Deadline {
				t.Fatalf("got %+v", got)
			}
		})
	}
}

func TestTheDefaultRankIsThatOfSLO080(t *testing.T) {
	for _, row := range golden(t).Ranks {
		if row.SLO == 0.8 && row.Rank != DefaultRank {
			t.Fatalf("got %d, want %d", DefaultRank, row.Rank)
		}
	}
}

func TestATimeBeforeTheEpochIsTheEpoch(t *testing.T) {
	if got := Of("", time.Unix(-5, 7)); got.seconds != 0 || got.nanos != 0 {
		t.Fatalf("got %+v", got)
	}
}

// FuzzOneSpelling: whatever is accepted is spelt in the only way there is, so comparing the
// stamps' bytes and comparing their keys is the same.
func FuzzOneSpelling(f *testing.F) {
	for _, row := range golden(f).Keys {
		f.Add(row.Text, row.Text)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		x, okOne := Parse(one)
		y, okOther := Parse(other)
		if okOne && spelt(x) != one {
			t.Fatalf("%q is read as %q", one, spelt(x))
		}
		if okOne && okOther && x.Compare(y) != strings.Compare(one, other) {
			t.Fatalf("%q and %q compare differently as bytes", one, other)
		}
	})
}

func spelt(k Key) string {
	return fmt.Sprintf("v1:%d:%06d:%011d%09d", k.tier, k.rank, k.seconds, k.nanos)
}
