package pagerank

import (
	"errors"
	"fmt"
	"math"
)

// Graph is what is ranked. Its nodes are 0 to Nodes()-1.
type Graph interface {
	// Nodes is the number of nodes.
	Nodes() int
	// InLinks calls f for each node that has in-links, in ascending order, with the nodes that
	// link to it: distinct, and not the node itself. sources is read until f returns. It returns
	// the first error of f.
	InLinks(f func(node uint32, sources []uint32) error) error
}

// Options say how far the iteration goes.
type Options struct {
	// Damping is the probability of following a link, 0 to 1, without 1. Brin and Page used 0.85.
	Damping float64
	// Tolerance ends the iteration when the ranks have changed by less in sum (L1 norm).
	Tolerance float64
	// MaxIterations ends it in any case.
	MaxIterations int
	// Progress is called after each iteration with its number, from 1, and the sum of changes; its
	// error ends Compute. Nil: nobody asks.
	Progress func(iteration int, change float64) error
}

// Result is the vector and how it was reached.
type Result struct {
	// Ranks sum to 1.
	Ranks []float64
	// In and Out count the distinct links of each node.
	In, Out []uint32
	// Links is the number of distinct links, Dangling that of nodes without any.
	Links    int64
	Dangling int
	// Iterations were made; the last one changed the ranks by Change in sum.
	Iterations int
	Change     float64
	// Converged says that Change is below the tolerance.
	Converged bool
}

// Check returns what is wrong with the options.
func (o *Options) Check() error {
	var errs []error
	if !(o.Damping >= 0 && o.Damping < 1) {
		errs = append(errs, fmt.Errorf("damping %v: it must be at least 0 and below 1", o.Damping))
	}
	if !(o.Tolerance >= 0) {
		errs = append(errs, fmt.Errorf("tolerance %v: it must not be negative", o.Tolerance))
	}
	if o.MaxIterations < 1 {
		errs = append(errs, fmt.Errorf("%d iterations: at least 1 is needed", o.MaxIterations))
	}
	return errors.Join(errs...)
}

// Compute ranks the nodes of a graph.
func Compute(g Graph, o Options) (*Result, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	n := g.Nodes()
	r := &Result{Ranks: make([]float64, n), In: make([]uint32, n), Out: make([]uint32, n)}
	if n == 0 {
		r.Converged = true
		return r, nil
	}
	if err := r.count(g); err != nil {
		return nil, err
	}
	for i := range r.Ranks {
		r.Ranks[i] = 1 / float64(n)
	}
	shares := make([]float64, n)
	for !r.Converged && r.Iterations < o.MaxIterations {
		if err := r.iterate(g, o.Damping, shares); err != nil {
			return nil, err
		}
		r.Converged = r.Change < o.Tolerance
		if o.Progress == nil {
			continue
		}
		if err := o.Progress(r.Iterations, r.Change); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// count counts the links.
func (r *Result) count(g Graph) error {
	err := g.InLinks(func(node uint32, sources []uint32) error {
		r.In[node] = uint32(len(sources))
		r.Links += int64(len(sources))
		for _, s := range sources {
			r.Out[s]++
		}
		return nil
	})
	for _, out := range r.Out {
		if out == 0 {
			r.Dangling++
		}
	}
	return err
}

// iterate makes one step. shares is memory for what each node passes along one link.
func (r *Result) iterate(g Graph, damping float64, shares []float64) error {
	var dangling float64
	for i, rank := range r.Ranks {
		if r.Out[i] == 0 {
			dangling += rank
		} else {
			shares[i] = damping * rank / float64(r.Out[i])
		}
	}
	n := float64(len(r.Ranks))
	base := (1 - damping + damping*dangling) / n
	r.Change = 0
	set := func(node int, rank float64) {
		r.Change += math.Abs(rank - r.Ranks[node])
		r.Ranks[node] = rank
	}
	next := 0 // the first node without its new rank
	err := g.InLinks(func(node uint32, sources []uint32) error {
		for ; next < int(node); next++ {
			set(next, base)
		}
		sum := base
		for _, s := range sources {
			sum += shares[s]
		}
		set(next, sum)
		next++
		return nil
	})
	for ; next < len(r.Ranks); next++ {
		set(next, base)
	}
	r.Iterations++
	return err
}
