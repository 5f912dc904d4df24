package frontier

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestWritesWaitForSpace(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	looked := make(chan struct{}, 100)
	s := space{free: func(string) (int64, error) {
		looked <- struct{}{}
		return free.Load(), nil
	}, hurried: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- s.await() }()
	<-looked
	<-looked // it has waited once
	select {
	case err := <-done:
		t.Fatalf("a write went on without space: %v", err)
	default:
	}
	free.Store(reserveBytes)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	free.Store(reserveBytes - 1)
	go func() { done <- s.await() }()
	<-looked
	s.hurry()
	if err := <-done; !errors.Is(err, ErrNoSpace) {
		t.Fatalf("told not to wait, it said %v", err)
	}
	s.free = func(string) (int64, error) { return 0, errors.New("no such volume") }
	if err := s.await(); err != nil {
		t.Fatalf("what cannot be known must not stop the store: %v", err)
	}
}
