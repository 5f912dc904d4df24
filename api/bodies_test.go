package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// waiting is a body that does not come.
type waiting struct{ end chan struct{} }

func (b waiting) Read([]byte) (int, error) {
	<-b.end
	return 0, io.EOF
}

// TestBodiesAreBoundedTogether has requests whose large bodies come slowly: there is room for four,
// with or without a length, and what has no body does not wait for them.
//
//race:meets
func TestBodiesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{MaxBodyBytes, -1, MaxBodyBytes + 1} {
		synctest.Test(t, func(t *testing.T) {
			h, end := New(&fakeNode{}, Options{}), make(chan struct{})
			send := func() int {
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:27295/api/v1/seeds", waiting{end})
				r.ContentLength = length
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code
			}
			codes := make(chan int, 4)
			for range 4 {
				go func() { codes <- send() }()
			}
			synctest.Wait()
			if code := send(); code != 503 {
				t.Errorf("length %d: a fifth body: %d", length, code)
			}
			if w := ask(h, "POST", "/api/v1/crawl/pause", ""); w.Code != 200 {
				t.Errorf("an order without a body waits: %d", w.Code)
			}
			if w := ask(h, "GET", "/status", ""); w.Code != 200 {
				t.Errorf("a question waits: %d", w.Code)
			}
			close(end)
			for range 4 {
				if code := <-codes; code == 503 {
					t.Errorf("length %d: %d", length, code)
				}
			}
			if code := send(); code == 503 {
				t.Errorf("length %d: after them: %d", length, code)
			}
		})
	}
}
