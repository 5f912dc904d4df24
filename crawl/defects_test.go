package crawl

import "testing"

// TestCountDefects: an answer that is used in spite of a defect is counted for each, and no other.
func TestCountDefects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o              Outcome
		tls, truncated int64
	}{
		{Outcome{Kind: Fetched}, 0, 0},
		{Outcome{Kind: Fetched, Category: ErrTLS}, 1, 0},
		{Outcome{Kind: Fetched, Truncated: "length"}, 0, 1},
		{Outcome{Kind: Fetched, Truncated: "time"}, 0, 1},
		{Outcome{Kind: RateLimited, Truncated: "disconnect"}, 0, 1},
		{Outcome{Kind: Fetched, Category: ErrTLS, Truncated: "disconnect"}, 1, 1},
		{Outcome{Kind: URLFailed, Category: ErrTLS, Truncated: "time"}, 0, 0},
	} {
		var n Counters
		n.CountDefects(&c.o)
		if n.Errors != [NumErrCategories]int64{ErrTLS: c.tls, ErrTruncated: c.truncated} {
			t.Errorf("%+v: %v", c.o, n.Errors)
		}
	}
}
