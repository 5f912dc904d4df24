package worker

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/web/fetcher"
)

// site answers by path.
type site map[string]*fetcher.Response

func (s site) Do(ctx context.Context, r fetcher.Request) (*fetcher.Response, error) {
	if r.URL.String() == "http://slow.test/" {
		<-ctx.Done()
		return nil, &fetcher.Error{Category: fetcher.Timeout, Err: ctx.Err()}
	}
	if resp := s[r.URL.String()]; resp != nil {
		return resp, nil
	}
	return nil, &fetcher.Error{Category: fetcher.Connect, Err: errors.New("refused")}
}

func page(status int, media, body string, header http.Header) *fetcher.Response {
	return &fetcher.Response{
		Status:      status,
		MediaType:   media,
		ContentType: media,
		Header:      header,
		Body:        []byte(body),
		RawBody:     []byte(body),
		WireBytes:   int64(len(body)),
		Took:        3 * time.Millisecond,
	}
}

// TestBatch: each URL of a lease gets one result, whatever its server does, and is sent until it
// counts.
func TestBatch(t *testing.T) {
	t.Parallel()
	const html = `<title>x</title><a href="/b">b</a><img src="i.png"><a href="http://c.test/">c</a>`
	web := site{
		"http://page.test/":   page(200, "text/html", html, http.Header{}),
		"http://closed.test/": page(200, "text/html", html, http.Header{"X-Robots-Tag": {"nofollow"}}),
		"http://named.test/": page(200, "text/html", html,
			http.Header{"X-Robots-Tag": {"fieldbot: nofollow"}}),
		"http://moved.test/":   page(301, "text/html", html, http.Header{"Location": {"/to"}}),
		"http://limited.test/": page(429, "text/html", html, http.Header{"Retry-After": {"7"}}),
		"http://image.test/":   page(200, "image/png", "png", http.Header{}),
	}
	lease := crawl.WorkerLease{
		LeaseID:      "l",
		LeaseSeconds: 0.5,
		UserAgent:    "Other/1.0",
		RobotsAgent:  "FieldBot",
	}
	for _, u := range []string{"http://page.test/", "http://closed.test/", "http://named.test/",
		"http://moved.test/", "http://limited.test/", "http://image.test/", "http://gone.test/",
		"http://slow.test/"} {
		lease.URLs = append(lease.URLs, crawl.LeasedURL{URL: u, IP: "192.0.2.1"})
	}
	lease.URLs = append(lease.URLs, crawl.LeasedURL{URL: "http://noaddress.test/"},
		crawl.LeasedURL{URL: "nonsense"})
	got, attempts := map[string]crawl.WorkerResult{}, 0
	b := &batch{
		fetcher: web,
		lease:   lease,
		send: func(_ context.Context, r crawl.WorkerResults) (crawl.ResultsReport, error) {
			if attempts++; r.LeaseID != "l" {
				t.Errorf("results of lease %q", r.LeaseID)
			}
			for _, one := range r.Results {
				got[one.URL] = one
			}
			return crawl.ResultsReport{}, nil
		},
	}
	n, err := b.run(t.Context())
	if err != nil || n != len(lease.URLs) {
		t.Errorf("%d, %v", n, err)
	}
	for u, want := range map[string]crawl.WorkerResult{
		"http://page.test/": {
			Status:     "success",
			HTTPStatus: 200,
			Links:      []string{"http://page.test/b", "http://c.test/"},
		},
		"http://closed.test/": {Status: "success", HTTPStatus: 200},
		"http://named.test/":  {Status: "success", HTTPStatus: 200},
		"http://moved.test/": {
			Status:     "success",
			HTTPStatus: 301,
			Links:      []string{"http://moved.test/to"},
		},
		"http://limited.test/":   {Status: "success", HTTPStatus: 429, RetryAfter: 7},
		"http://image.test/":     {Status: "success", HTTPStatus: 200},
		"http://gone.test/":      {Status: "error", Error: "connect: refused"},
		"http://noaddress.test/": {Status: "error", Error: "dns: the node gave no address"},
	} {
		g := got[u]
		if g.Status != want.Status || g.HTTPStatus != want.HTTPStatus ||
			!slices.Equal(g.Links, want.Links) || g.Error != want.Error || g.RetryAfter != want.RetryAfter {
			t.Errorf("%s: %+v, want %+v", u, g, want)
		}
	}
	if g := got["http://page.test/"]; g.ContentHash == "" || g.FetchTimeMS != 3 ||
		g.ContentLength != int64(len(html)) || g.LinksFound < 2 {
		t.Errorf("%+v", g)
	}
}

// TestReport: results are sent again until they count, their lease has ended, or they never will.
func TestReport(t *testing.T) {
	t.Parallel()
	wrong := &client.Error{Code: http.StatusBadRequest}
	for name, c := range map[string]struct {
		answers []error
		err     error
	}{
		"busy":    {[]error{&client.Error{Code: http.StatusServiceUnavailable}, nil}, nil},
		"nobody":  {[]error{client.ErrUnreachable, nil}, nil},
		"ended":   {[]error{&client.Error{Code: http.StatusGone}}, nil},
		"refused": {[]error{wrong}, wrong},
	} {
		n := 0
		b := &batch{send: func(context.Context, crawl.WorkerResults) (crawl.ResultsReport, error) {
			n++
			return crawl.ResultsReport{}, c.answers[n-1]
		}}
		if err := b.report(t.Context(), nil); !errors.Is(err, c.err) || n != len(c.answers) {
			t.Errorf("%s: %v after %d", name, err, n)
		}
	}
}

// nodes lease one URL, after a while, or never.
type nodes struct {
	takes time.Duration // to answer the question for URLs; 0: for ever
	asked chan struct{} // closed at the first question
	got   []crawl.WorkerResult
}

func (n *nodes) NextURLs(ctx context.Context, _ crawl.NextQuery) (crawl.WorkerLease, error) {
	close(n.asked)
	var answer <-chan time.Time
	if n.takes > 0 {
		answer = time.After(n.takes)
	}
	select {
	case <-answer:
		return crawl.WorkerLease{
			LeaseID:      "l",
			LeaseSeconds: 300,
			URLs:         []crawl.LeasedURL{{URL: "http://page.test/", IP: "192.0.2.1"}},
		}, nil
	case <-ctx.Done():
		return crawl.WorkerLease{}, ctx.Err()
	}
}

func (n *nodes) SendResults(_ context.Context, r crawl.WorkerResults) (crawl.ResultsReport, error) {
	n.got = append(n.got, r.Results...)
	return crawl.ResultsReport{}, nil
}

// TestInterruptedWhileAsking: URLs that a node has leased while the worker was told to end would
// wait for the lease's end. It hears the answer, which comes soon or not at all, and reports them.
func TestInterruptedWhileAsking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes   time.Duration
		results int
		ends    time.Duration // at most
	}{
		{patience, 1, patience + sendEvery},
		{0, 0, patience + pause},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &nodes{takes: c.takes, asked: make(chan struct{})}
			ctx, interrupt := context.WithCancel(t.Context())
			began := time.Now()
			go func() {
				<-n.asked
				interrupt()
			}()
			var out strings.Builder
			err := (&Verb{Fetchers: 8}).work(ctx, &command.Env{Stdout: &out}, n,
				site{"http://page.test/": page(200, "text/html", "", http.Header{})})
			if took := time.Since(began); err != nil || len(n.got) != c.results || took > c.ends {
				t.Errorf("answered after %v: %v, %d results, after %v; %s", c.takes, err, len(n.got), took,
					out.String())
			}
		})
	}
}
