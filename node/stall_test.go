package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/settings/crawldoc"
)

// TestFrozenDisk: a node whose disk does not answer says so, goes on when it does, and
// ends in time when it does not.
func TestFrozenDisk(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "frozen")
	c.DrainTimeout = 2 * time.Second
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	store := storage.NewMemory()
	n, err := Open(Options{
		Config:  c,
		Logger:  slog.New(slog.DiscardHandler),
		Version: "test",
		Store:   store,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Run(context.Background()) }()
	says := func(want bool) {
		t.Helper()
		until(t, patience, func() string {
			for _, r := range n.report.HealthReasons() {
				if r.Code == crawl.ReasonDiskStalled {
					if want {
						return ""
					}
					return r.Message
				}
			}
			if want {
				return "nothing is said of the disk"
			}
			return ""
		})
	}
	until(t, patience, func() string { _, why := n.Ready(); return why })
	if _, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		return d.Enter(crawl.CrawlRunning, "", "n", time.Now())
	}); err != nil {
		t.Fatal(err)
	}
	until(t, patience, func() string {
		if !n.mayCrawl() {
			return "it does not crawl though its disk answers"
		}
		return ""
	})
	store.SetTrouble(storage.Trouble{Frozen: true})
	says(true)
	if n.mayCrawl() {
		t.Error("it crawls without its disk")
	}
	if why := n.report.PausedReason(false); !strings.Contains(why, "gets no answer from its disk") {
		t.Errorf("it is paused because %q", why)
	}
	store.SetTrouble(storage.Trouble{})
	says(false)
	store.SetTrouble(storage.Trouble{Frozen: true})
	says(true)
	n.Drain()
	select {
	case err := <-ended: // while the disk still does not answer
		if !errors.Is(err, ErrStorage) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it waits for its disk")
	}
	store.SetTrouble(storage.Trouble{}) // frees what was left behind
	until(t, patience, func() string {
		if n.front.Stalled() > 0 {
			return "the writer waits"
		}
		return ""
	})
}

// TestDocumentChangesWhileFrozen: a crawl whose document changes while the disk does not answer
// goes on when it does.
func TestDocumentChangesWhileFrozen(t *testing.T) {
	t.Parallel()
	first, second := make(chan struct{}), atomic.Bool{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			<-first
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, `<a href="/second">second</a>`)
		case "/second":
			second.Store(true)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	c := testConfig(t, "frozen")
	c.AllowPorts = anyPort
	store := storage.NewMemory()
	n := startNodeIn(t, c, store)
	until(t, patience, func() string { _, why := n.Ready(); return why })
	if _, err := n.AddSeeds(t.Context(), []crawl.Seed{{URL: site.URL + "/"}}); err != nil {
		t.Fatal(err)
	}
	until(t, patience, func() string {
		if n.engine.Load().dispatcher.Busy() == 0 {
			return "the first page is not asked for"
		}
		return ""
	})
	store.SetTrouble(storage.Trouble{Frozen: true})
	until(t, patience, func() string {
		if n.mayCrawl() {
			return "it crawls without its disk"
		}
		return ""
	})
	n.documentChanged()
	store.SetTrouble(storage.Trouble{})
	close(first)
	until(t, patience, func() string {
		if !second.Load() {
			return "the second page was not asked for"
		}
		return ""
	})
}
