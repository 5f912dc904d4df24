package fanout

import (
	"errors"
	"testing"
)

// TestAsk: all are asked at the same time, and each answer is beside the node that gave it.
func TestAsk(t *testing.T) {
	t.Parallel()
	nodes := []string{"a", "b", "c"}
	asked := make(chan string, len(nodes))
	all := make(chan struct{})
	go func() {
		for range nodes {
			<-asked
		}
		close(all)
	}()
	silent := errors.New("no answer")
	answers := Ask(nodes, func(n string) (string, error) {
		asked <- n
		<-all // no call ends before every one has begun
		if n == "b" {
			return "", silent
		}
		return n + n, nil
	})
	want := []Answer[string, string]{{"a", "aa", nil}, {"b", "", silent}, {"c", "cc", nil}}
	for i, a := range answers {
		if a != want[i] {
			t.Errorf("%+v, want %+v", a, want[i])
		}
	}
	if len(answers) != len(want) || len(Ask(nil, func(int) (int, error) { return 0, silent })) != 0 {
		t.Errorf("%d answers", len(answers))
	}
}
