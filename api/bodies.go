package api

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBodiesBytes bounds the bodies of all requests in memory, as they are sent. What is made of
	// one takes some times its size while it is handled.
	maxBodiesBytes = 4 * MaxBodyBytes
	// bodyWait is how long a request waits until others have ended.
	bodyWait = 5 * time.Second
)

// bodies is the room for bodies.
type bodies struct{ room *semaphore.Weighted }

func newBodies() *bodies { return &bodies{semaphore.NewWeighted(maxBodiesBytes)} }

// hold has a request wait for room for its body, which it keeps until it is answered. A body of
// unknown length counts as the largest.
func (b *bodies) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := min(r.ContentLength, MaxBodyBytes)
		if size < 0 {
			size = MaxBodyBytes
		}
		if !b.acquire(r.Context(), size) {
			w.Header().Set("Retry-After", "2")
			writeProblem(w, http.StatusServiceUnavailable,
				"this node is busy with the bodies of other requests: send it again")
			return
		}
		defer b.room.Release(size)
		next.ServeHTTP(w, r)
	})
}

// acquire takes room for a body, and waits for it if there is none. A request that has ended
// meanwhile is not refused for lack of room that there is.
func (b *bodies) acquire(ctx context.Context, size int64) bool {
	if b.room.TryAcquire(size) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, bodyWait)
	defer cancel()
	return b.room.Acquire(ctx, size) == nil
}
