package fanout

import "sync"

// Answer is what one node has answered, or the error of the call.
type Answer[N, A any] struct {
	Node  N
	Value A
	Err   error
}

// Ask calls ask for each of the nodes, all at the same time, and returns when every call has. The
// answers are in the order of the nodes. The time is bounded by ask alone.
func Ask[N, A any](nodes []N, ask func(N) (A, error)) []Answer[N, A] {
	answers := make([]Answer[N, A], len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			a := &answers[i]
			a.Node = n
			a.Value, a.Err = ask(n)
		})
	}
	wg.Wait()
	return answers
}
