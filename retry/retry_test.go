//race:none

package retry

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestAfter: 1, 10, 60 s, then 60 s each, as often as the setting says.
func TestAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		failures, retries int
		want              time.Duration
		again             bool
	}{
		{1, 3, time.Second, true}, {2, 3, 10 * time.Second, true}, {3, 3, time.Minute, true}, {4, 3, 0, false},
		{1, 0, 0, false}, {1, 1, time.Second, true}, {2, 1, 0, false}, {0, 3, 0, false}, {-1, 3, 0, false},
		{4, 5, time.Minute, true}, {5, 5, time.Minute, true}, {6, 5, 0, false}, {100, MaxRetries, time.Minute, true},
	} {
		if got, again := After(tc.failures, tc.retries); got != tc.want || again != tc.again {
			t.Errorf("After(%d, %d): %v, %v", tc.failures, tc.retries, got, again)
		}
	}
}

// TestStatuses reads lists with ranges. 429 and 503 are never in one: then the host waits.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		crawl.DefaultRetryStatuses: {408, 425, 500, 502, 504, 520, 521, 522, 523, 524, 525, 526},
		"":                         nil, " ": nil, "502": {502}, " 404 , 410-411 ": {404, 410, 411},
		"429,503": nil, "502-504": {502, 504}, "599": {599}, "400": {400}, "500,500-501": {500, 501},
	} {
		s, err := ParseStatuses(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []int
		for n := -1; n < 1000; n++ {
			if s.Has(n) {
				got = append(got, n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
	for _, text := range []string{"200", "302", "399", "600", "5xx", "502-", "-502", "504-500", "502,",
		"0502", "+502", "502 504", "499-600", "500-502-504"} {
		if s, err := ParseStatuses(text); err == nil || s != (Statuses{}) {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParseStatuses(f *testing.F) {
	f.Add(crawl.DefaultRetryStatuses)
	f.Add("500-")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStatuses(text)
		for n := range 1000 {
			if s.Has(n) && (err != nil || n < 400 || n > 599 || n == 429 || n == 503) {
				t.Errorf("%q has %d, error %v", text, n, err)
			}
		}
	})
}
