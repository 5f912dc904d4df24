package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// figures is a status with these speeds.
func figures(pages float64, errors int64, nodes map[string]float64) *crawl.Status {
	st := &crawl.Status{}
	st.Throughput.PagesPerSecond.Now = pages
	st.Fetch.ErrorsTotal = errors
	for name, v := range nodes {
		st.Nodes = append(st.Nodes, crawl.NodeStatus{ID: crawl.NodeID("id-" + name), Name: name, State: crawl.NodeAlive, PagesPerSecond: &v})
	}
	return st
}

// A day of samples takes bounded memory, and the day's curve is the mean of the hour's.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h := NewHistory(nil)
	const looks = 25 * 720
	for i := range looks {
		h.add(at(0).Add(time.Duration(i)*sampleEvery), figures(float64(i%coarseOf), int64(10*i), map[string]float64{"a": float64(i % coarseOf)}))
	}
	fine, day := h.Series(false, ranks{}), h.Series(true, ranks{"id-a": 3})
	if len(fine.Times) != fineKept || len(day.Times) != coarseKept || cap(h.fine) > 2*fineKept || cap(h.coarse) > 2*coarseKept {
		t.Errorf("%d and %d samples kept", len(fine.Times), len(day.Times))
	}
	last := at(0).Add((looks - 1) * sampleEvery).Unix()
	if fine.Times[fineKept-1] != last || day.Times[coarseKept-1] != last || fine.Errors[7] != 2 {
		t.Errorf("the newest are of %d and %d, want %d; %v errors per second", fine.Times[fineKept-1], day.Times[coarseKept-1], last, fine.Errors[7])
	}
	if n := day.Nodes[0]; day.Pages[5] != 5.5 || n.Pages[5] != 5.5 || n.Hue != 3 || n.Letter != "D" {
		t.Errorf("means %v and %v, want 5.5; %+v", day.Pages[5], n.Pages[5], n.Letter)
	}
}

// A node that did not answer, or had not joined yet, has a gap in its curve and no zero.
func TestHistoryHasGaps(t *testing.T) {
	t.Parallel()
	h := NewHistory(nil)
	h.add(at(0), figures(1, 0, map[string]float64{"a": 1}))
	h.add(at(5), figures(1, 0, map[string]float64{"a": 1.234, "b": 2}))
	st := figures(1, 0, map[string]float64{"a": 1, "b": 2})
	for i := range st.Nodes {
		if st.Nodes[i].Name == "a" {
			st.Nodes[i].State = crawl.NodeFailed
		}
	}
	h.add(at(10), st)
	text, err := json.Marshal(h.Series(false, ranks{}))
	if want := `"name":"a","hue":-1,"letter":"?","pages_per_second":[1,1.23,null]}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v %s\nwithout %s", err, text, want)
	}
	if want := `"pages_per_second":[null,2,2]}`; !strings.Contains(string(text), want) {
		t.Errorf("%s\nwithout %s", text, want)
	}
}

// Only the first 32 nodes have curves.
func TestHistoryOfManyNodes(t *testing.T) {
	t.Parallel()
	h := NewHistory(nil)
	for i := range 2 * maxCurves {
		h.add(at(i), figures(1, 0, map[string]float64{fmt.Sprint("n", i): 1}))
	}
	if n := len(h.Series(false, ranks{}).Nodes); n != maxCurves {
		t.Errorf("%d curves", n)
	}
}

// Run samples at once and then every five seconds, and ends with its context.
func TestHistoryRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHistory(&fakeNode{})
		ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
		defer cancel()
		h.Run(ctx)
		if n := len(h.Series(false, ranks{}).Times); n != 13 {
			t.Errorf("%d samples in 61 s", n)
		}
	})
}

func TestChart(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]float64{1: 1, 1.1: 2, 3: 5, 7: 10, 10: 10, 1234: 2000} {
		if got := niceAbove(v); got != want {
			t.Errorf("above %v: %v, want %v", v, got, want)
		}
	}
	h := NewHistory(nil)
	if c := newChart(h.Series(false, ranks{}), false); !c.Empty {
		t.Errorf("%+v of nothing", c)
	}
	for i := range fineKept {
		h.add(at(5*i), figures(100, 0, map[string]float64{"a": 50}))
	}
	c := newChart(h.Series(false, ranks{}), false)
	corners := strings.Fields(c.Lines[1].Points)
	if len(corners) != maxPoints || corners[0] != "44,8" || len(c.Rows) != tableRows || c.Rows[0].At != c.To || c.Rows[tableRows-1].At != c.From || c.Rows[0].Nodes[0] != "50.0" {
		t.Errorf("%d corners from %s, rows %v, from %s to %s", len(corners), corners[0], c.Rows, c.From, c.To)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		count(0): "0", count(int64(1234567)): "1,234,567", count((*int)(nil)): dash, count(ptr(int64(999))): "999", count(-1000): "-1,000",
		rate(0.0): "0", rate(12.34): "12.3", rate(1234.5): "1,234", rate((*float64)(nil)): dash,
		byteSize(999): "999 B", byteSize(int64(5 << 20)): "5.0 MiB", byteSize(int64(3) << 50): "3072.0 TiB",
		seconds(0.0004): "0.4 ms", seconds(0.25): "250 ms", seconds(12.34): "12.3 s", seconds(90): "1 min 30 s", seconds(7260): "2 h 1 min", seconds(3e5): "3 d 11 h", seconds(9e9): "years",
		plain("a\x00\u202eb"): `a\u{0}\u{202e}b`, plain((*string)(nil)): dash, plain(ptr("x")): "x", plain("ü 文"): "ü 文",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The cost of one sample.
func BenchmarkHistoryAdd(b *testing.B) {
	h, nodes := NewHistory(nil), map[string]float64{}
	for i := range 20 {
		nodes[fmt.Sprint("n", i)] = 1
	}
	st := figures(1, 1, nodes)
	for i := 0; b.Loop(); i++ {
		h.add(at(5*i), st)
	}
}
