package crawl

import (
	"context"
	"time"
)

// Signal fills a channel of capacity 1 that says "look": what there is to see stands elsewhere.
// It does not block. A signal that nobody has taken yet stands for the later ones as well.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Wait is time.Sleep that ends with ctx. It reports whether all of d has passed.
func Wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
