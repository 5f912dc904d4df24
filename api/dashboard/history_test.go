package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"crawlnode/crawl"
)

// figures is a status with these speeds.
func figures(pages float64, errors int64, nodes map[string]float64) *crawl.Status {
	st := &crawl.Status{}
	st.Throughput.PagesPerSecond.Now = pages
	st.Fetch.ErrorsTotal = errors
	for name, v := range nodes {
		st.Nodes = append(st.Nodes, crawl.NodeStatus{
			ID:             crawl.NodeID("id-" + name),
			Name:           name,
			State:          crawl.NodeAlive,
			PagesPerSecond: &v,
		})
	}
	return st
}

// A week of samples takes bounded memory, and each curve is the mean of the finer one.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h := NewHistory(nil)
	const looks, wave = 8 * 24 * 3600, 60
	for i := range looks {
		st := figures(float64(i%wave), int64(10*i), nil)
		st.Nodes = []crawl.NodeStatus{{
			ID:             "id-a",
			Name:           "a",
			State:          crawl.NodeAlive,
			PagesPerSecond: &st.Throughput.PagesPerSecond.Now,
		}}
		h.add(at(0).Add(time.Duration(i)*sampleEvery), st)
	}
	last, bytes := at(0).Add((looks-1)*sampleEvery).Unix(), 0
	for i, span := range spans {
		s := h.Series(i, ranks{"id-a": 3})
		n := len(s.Times)
		if n != span.kept || s.Times[n-1] != last ||
			time.Duration(s.Times[n-1]-s.Times[n-2])*time.Second != span.step {
			t.Errorf("%s: %d samples, the newest of %d, want %d of %d", span.Name, n, s.Times[n-1],
				span.kept, last)
		}
		if want := float32(wave-1) / 2; i >= 2 && (math.Abs(float64(s.Pages[5]-want)) > 0.01 ||
			s.Nodes[0].Pages[5] != want || s.Errors[5] != 10 || s.Nodes[0].Letter != "D") {
			t.Errorf("%s: means %v and %v, want %v; %v errors per second", span.Name, s.Pages[5],
				s.Nodes[0].Pages[5], want, s.Errors[5])
		}
		bytes += cap(h.rings[i].samples) * (int(unsafe.Sizeof(sample{})) + 4*maxCurves)
	}
	if bytes > 1<<20 {
		t.Errorf("all spans take %d bytes with as many nodes as have curves", bytes)
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
	text, err := json.Marshal(h.Series(0, ranks{}))
	if want := `"name":"a","hue":-1,"letter":"?","pages_per_second":[1,1.23,null]}`; err != nil ||
		!strings.Contains(string(text), want) {
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
	if n := len(h.Series(0, ranks{}).Nodes); n != maxCurves {
		t.Errorf("%d curves", n)
	}
}

// Run samples at once and then every second, and ends with its context.
func TestHistoryRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHistory(&fakeNode{})
		// not at the moment of a tick
		ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second+sampleEvery/2)
		defer cancel()
		h.Run(ctx)
		if n := len(h.Series(0, ranks{}).Times); n != 62 {
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
	if c := newChart(h.Series(0, ranks{})); !c.Empty {
		t.Errorf("%+v of nothing", c)
	}
	for i := range spans[0].kept {
		h.add(at(i), figures(100, 0, map[string]float64{"a": 50}))
	}
	c := newChart(h.Series(0, ranks{}))
	if week := newChart(Series{
		Times:  []int64{0, 7 * 24 * 3600},
		Pages:  Points{1, 2},
		Errors: Points{0, 0},
		Queued: Points{0, 0},
	}); week.From != "1970-01-01 00:00:00" {
		t.Errorf("a week begins at %s", week.From)
	}
	corners := strings.Fields(c.Lines[1].Points)
	if len(corners) != 200 || corners[0] != "0,0" || len(c.Rows) != tableRows ||
		c.Rows[0].At != c.To || c.Rows[tableRows-1].At != c.From || c.Rows[0].Nodes[0] != "50.0" {
		t.Errorf("%d corners from %s, rows %v, from %s to %s", len(corners), corners[0], c.Rows, c.From,
			c.To)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		count(0): "0", count(int64(1234567)): "1,234,567", count((*int)(nil)): dash,
		count(ptr(int64(999))): "999", count(-1000): "-1,000",
		rate(0.0): "0", rate(12.34): "12.3", rate(1234.5): "1,234", rate((*float64)(nil)): dash,
		byteSize(999): "999 B", byteSize(
			int64(5 << 20)): "5.0 MiB", byteSize(int64(3) << 50): "3072.0 TiB",
		seconds(0.0004): "0.4 ms", seconds(0.25): "250 ms", seconds(12.34): "12.3 s",
		seconds(90): "1 min 30 s", seconds(7260): "2 h 1 min", seconds(3e5): "3 d 11 h",
		seconds(9e9):          "years",
		plain("a\x00\u202eb"): `a\u{0}\u{202e}b`, plain((*string)(nil)): dash, plain(ptr("x")): "x",
		plain("ü 文"): "ü 文",
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
