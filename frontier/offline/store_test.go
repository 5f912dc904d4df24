package offline

import (
	"context"
	"crypto/sha1"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/web/urlnorm"
)

const partitions = 5

// fill makes a frontier that holds all partitions: some hosts with one URL, some with many, some
// URLs done. stop ends it as a clean stop does.
func fill(
	t *testing.T,
	dir string,
	urls int,
) (f *frontier.Frontier, states map[string]string, stop func()) {
	t.Helper()
	kv, err := storage.OpenBadger(dir, storage.BadgerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if f, err = frontier.New(kv, frontier.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(f.Found(ctx, []crawl.Partition{0, 1, 2, 3, 4}, 1))
	states = map[string]string{}
	var links []crawl.Routed
	for n := range urls {
		host := fmt.Sprintf("h%d.test", n%97)
		if n%5 == 0 {
			host = fmt.Sprintf("only%d.test", n)
		}
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d", host, n))
		must(err)
		links = append(links, crawl.Routed{
			Partition: crawl.Partition(n % 97 % partitions),
			Target:    crawl.Target{URL: u, Depth: 2},
		})
		states[u.String()] = crawl.ListQueued
	}
	for piece := range slices.Chunk(links, 500) {
		_, err := f.Add(ctx, piece)
		must(err)
	}
	for n := range 97 {
		if n%5 == 0 {
			continue
		}
		p, host := crawl.Partition(n%partitions), crawl.Host(fmt.Sprintf("h%d.test", n))
		q, err := f.Load(p, host, frontier.Cursor{}, 3)
		must(err)
		for _, item := range q.Items {
			must(f.Complete(ctx,
				frontier.Completion{Lease: crawl.Lease{Partition: p, Epoch: 1, Host: host, Item: item},
					Outcome: crawl.Outcome{Kind: crawl.Fetched, Status: 200, FetchedAt: time.Now()}}))
			states[item.URL.String()] = crawl.ListDone
		}
	}
	return f, states, func() {
		cancel()
		must(<-over)
		must(f.Close())
	}
}

// listAll walks all pages.
func listAll(t *testing.T, s *Store, q crawl.URLQuery) map[string]string {
	t.Helper()
	got := map[string]string{}
	for {
		page, err := s.Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.URLs {
			if got[l.URL] != "" {
				t.Fatalf("%s is listed twice", l.URL)
			}
			got[l.URL] = l.State
		}
		if page.Next == nil {
			return got
		}
		q.After = *page.Next
	}
}

// contents are all files of a folder, with what they are.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprint(info.ModTime(), info.Mode(), len(b), sha1.Sum(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStore lists what a stopped, a killed and a damaged frontier has, and leaves no trace in its
// folder.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	running := filepath.Join(dir, "running")
	_, states, stop := fill(t, running, 3000)
	killed := filepath.Join(dir, "killed")
	if err := os.CopyFS(killed, os.DirFS(running)); err != nil { // what a kill leaves
		t.Fatal(err)
	}
	stop()
	for _, folder := range []string{running, killed} {
		before := contents(t, folder)
		s, err := Open(false, folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := listAll(t, s, crawl.URLQuery{Limit: 170}); !maps.Equal(got, states) {
			t.Errorf("%s: %d URLs, want %d", folder, len(got), len(states))
		}
		if got := listAll(t, s, crawl.URLQuery{
			Limit: 7,
			Host:  "h1.test",
			State: crawl.ListDone,
		}); len(got) != 3 {
			t.Errorf("%s: %v", folder, got)
		}
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if !maps.Equal(before, contents(t, folder)) {
			t.Errorf("%s was changed", folder)
		}
	}
	tables, err := filepath.Glob(filepath.Join(running, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	damage(t, tables[0])
	s, err := Open(false, running)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(); err == nil || !strings.Contains(err.Error(), filepath.Base(tables[0])) {
		t.Errorf("a damaged table: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(false, dir); err == nil {
		t.Error("a folder without a store was opened")
	}
}

// damage flips a bit in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCopies: of several folders each partition is read once, and copies only when asked for.
func TestCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	first, states, stop := fill(t, a, 500)
	for p := range crawl.Partition(2) { // handed over
		if err := first.Freeze(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := first.Transition(t.Context(), p,
			func(m *layout.Meta) error { m.State = layout.Released; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	_, _, stop = fill(t, b, 0) // holds all, and has no URL
	stop()
	some := map[string]string{} // those of the other partitions
	for url, state := range states {
		n, err := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
		if err != nil {
			t.Fatal(err)
		}
		if n%97%partitions >= 2 {
			some[url] = state
		}
	}
	for _, c := range []struct {
		copies     bool
		dirs       []string
		want       map[string]string
		read, left int
	}{
		{false, []string{a}, some, 3, 2},
		{true, []string{a}, states, 5, 0},
		{true, []string{a, b}, some, 5, 0}, // b holds what a has handed over; of the others a's are newer
	} {
		s, err := Open(c.copies, c.dirs...)
		if err != nil {
			t.Fatal(err)
		}
		if got := listAll(t, s, crawl.URLQuery{}); !maps.Equal(got, c.want) {
			t.Errorf("%v of %d folders: %d URLs, want %d", c.copies, len(c.dirs), len(got), len(c.want))
		}
		if read, left := s.Partitions(); read != c.read || left != c.left {
			t.Errorf("%d and %d partitions, want %d and %d", read, left, c.read, c.left)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
