package index

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWorkIsBounded: a question that costs too much is answered with what was found until then, and
// says so; none that is excluded is in the answer.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	x, _, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var b Batch
	for i := range 300 {
		odd := ""
		if i%2 == 1 {
			odd = "odd"
		}
		b.Put = append(b.Put, Document{
			URL:       fmt.Sprintf("http://a.test/%d", i),
			Host:      "a.test",
			Title:     fmt.Sprintf("number%d", i),
			Text:      strings.Repeat("apple banana cherry ", 5) + odd,
			Language:  "en",
			FetchedAt: time.Unix(1e9, 0),
		})
	}
	if err := x.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"apple banana", `"apple banana"`, `"cherry banana"`, "numb*", "-odd", "apple -odd", "site:a.test",
		"apple numb* -odd", `-"apple banana"`, "banana zzz apple yyy",
	} {
		plan := Plan{Question: Question{Text: text, Now: time.Unix(2e9, 0)}, Depth: 1000}
		if plan.Statistics, err = x.Statistics(t.Context(), plan.Question); err != nil {
			t.Fatal(err)
		}
		for _, plan.Relaxed = range []bool{false, true} {
			whole, err := x.ask(t.Context(), plan, &budget{left: maxWork})
			if err != nil || !whole.Exact {
				t.Fatalf("%q: exact %v, %v", text, whole.Exact, err)
			}
			for _, work := range []int{0, 7, 100, 401} {
				answer, err := x.ask(t.Context(), plan, &budget{left: work})
				if err != nil {
					t.Fatal(err)
				}
				if answer.Exact && answer.Total != whole.Total || answer.Total > whole.Total ||
					work == 0 && whole.Total > 0 && answer.Total > 0 {
					t.Errorf("%q with %d steps: %d hits of %d, exact %v", text, work, answer.Total, whole.Total,
						answer.Exact)
				}
				for _, h := range answer.Hits {
					if d, _, _ := x.Get(h.URL); strings.Contains(text, "-odd") && strings.Contains(d.Text, "odd") {
						t.Errorf("%q with %d steps finds %s", text, work, h.URL)
					}
				}
			}
		}
	}
}
