//race:none

package pagerank

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// lists is a graph in memory: the sources of each node.
type lists [][]uint32

func (l lists) Nodes() int { return len(l) }

func (l lists) InLinks(f func(uint32, []uint32) error) error {
	for node, sources := range l {
		if len(sources) == 0 {
			continue
		}
		if err := f(uint32(node), sources); err != nil {
			return err
		}
	}
	return nil
}

// dense solves the same system with a full matrix, by Gauss's elimination.
func dense(l lists, damping float64) []float64 {
	n := len(l)
	out := make([]int, n)
	for _, sources := range l {
		for _, s := range sources {
			out[s]++
		}
	}
	// (I - d P') x = (1-d)/n, with the rows of dangling nodes uniform.
	m := make([][]float64, n)
	for t := range m {
		m[t] = make([]float64, n+1)
		m[t][t], m[t][n] = 1, (1-damping)/float64(n)
		for s := range n {
			if out[s] == 0 {
				m[t][s] -= damping / float64(n)
			}
		}
		for _, s := range l[t] {
			m[t][s] -= damping / float64(out[s])
		}
	}
	for c := range n {
		pivot := c
		for r := c; r < n; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		m[c], m[pivot] = m[pivot], m[c]
		for r := range n {
			if f := m[r][c] / m[c][c]; r != c && f != 0 {
				for k := c; k <= n; k++ {
					m[r][k] -= f * m[c][k]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

// drawn draws a graph.
func drawn(r *rand.Rand, n int, density float64) lists {
	l := make(lists, n)
	for t := range l {
		for s := range n {
			if s != t && r.Float64() < density {
				l[t] = append(l[t], uint32(s))
			}
		}
	}
	return l
}

func TestComputeEqualsTheDenseSolution(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		l := drawn(r, 1+r.IntN(40), []float64{0.02, 0.1, 0.5}[i%3])
		damping := []float64{0, 0.5, 0.85, 0.99}[i%4]
		got, err := Compute(l, Options{Damping: damping, Tolerance: 1e-13, MaxIterations: 10_000})
		if err != nil || !got.Converged {
			t.Fatalf("%v: %v, converged %v", l, err, got.Converged)
		}
		var sum float64
		var in, out, dangling int
		for node, want := range dense(l, damping) {
			sum += got.Ranks[node]
			in, out = in+int(got.In[node]), out+int(got.Out[node])
			if got.Out[node] == 0 {
				dangling++
			}
			if math.Abs(got.Ranks[node]-want) > 1e-10 || int(got.In[node]) != len(l[node]) {
				t.Fatalf("node %d of %v, damping %v: %v, want %v; %d in-links", node, l, damping,
					got.Ranks[node], want, got.In[node])
			}
		}
		if math.Abs(sum-1) > 1e-10 || in != out || got.Links != int64(in) || got.Dangling != dangling {
			t.Fatalf("%v: sum %v, %d in, %d out, %d links, %d of %d dangling", l, sum, in, out, got.Links,
				got.Dangling, dangling)
		}
	}
}

func TestComputeEnds(t *testing.T) {
	t.Parallel()
	ring := lists{{2}, {0}, {1}} // each step is exact at once
	got, err := Compute(ring, Options{Damping: 0.85, Tolerance: 1e-9, MaxIterations: 50})
	if err != nil || got.Iterations != 1 || !got.Converged {
		t.Errorf("%+v, %v", got, err)
	}
	star := lists{{1, 2, 3}, {0}, {}, {}}
	got, err = Compute(star, Options{Damping: 0.85, Tolerance: 0, MaxIterations: 4})
	if err != nil || got.Iterations != 4 || got.Converged {
		t.Errorf("%+v, %v", got, err)
	}
	stop := errors.New("stop")
	if _, err = Compute(star,
		Options{Damping: 0.85, MaxIterations: 4, Progress: func(i int, change float64) error {
			if i == 2 && change > 0 {
				return stop
			}
			return nil
		}}); !errors.Is(err, stop) {
		t.Errorf("the error of Progress: %v", err)
	}
	if got, err = Compute(lists{}, Options{Damping: 0.85, MaxIterations: 1}); err != nil ||
		len(got.Ranks) != 0 {
		t.Errorf("an empty graph: %+v, %v", got, err)
	}
	_, err = Compute(ring, Options{Damping: 1, Tolerance: -1})
	for _, what := range []string{"damping 1", "tolerance -1", "0 iterations"} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v does not name %s", err, what)
		}
	}
}

func BenchmarkCompute(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const nodes, links = 20_000, 400_000
	l := make(lists, nodes)
	for range links {
		t := r.IntN(nodes)
		l[t] = append(l[t], uint32(r.IntN(nodes)))
	}
	for b.Loop() {
		if _, err := Compute(l, Options{Damping: 0.85, MaxIterations: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/links, "ns/link")
}
