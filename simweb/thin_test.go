package simweb

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// In a thin web every page but the seeds has exactly one link to it, on a page
// that can be reached, so that no link may get lost.
func TestThinWebHasOneWayToEachPage(t *testing.T) {
	t.Parallel()
	w := newWeb(t, Config{
		Seed:         3,
		Hosts:        40,
		PagesPerHost: 30,
		SeedHosts:    8,
		Thin:         true,
		Missing:      30,
		Private:      30,
		DeadHosts:    2,
	})
	ways := make([]int, w.pages)
	reachable := w.reach()
	var links []uint32
	chains := 0
	for page := range w.pages {
		if !reachable.has(page) {
			continue
		}
		links = w.appendLinks(links[:0], page)
		for _, to := range links {
			ways[to]++
		}
		if len(links) == 1 {
			chains++
		}
	}
	start := map[uint32]bool{}
	for i := range w.cfg.SeedHosts {
		start[w.hosts[i].first] = true
	}
	var unreachable int
	for i := range w.hosts {
		h := &w.hosts[i]
		for page := h.first; page < h.first+h.pages; page++ {
			// A page that robots.txt forbids is not reached, whoever links to it.
			if !reachable.has(page) && w.allowed(h, page-h.first) && !h.dead {
				unreachable++
			}
			if reachable.has(page) && !start[page] && ways[page] != 1 {
				t.Errorf("%s has %d ways to it", w.url(page), ways[page])
			}
		}
		if h.dead && ways[h.first] != 1 {
			t.Errorf("dead host %s has %d ways to it", h.name, ways[h.first])
		}
	}
	if unreachable > 0 {
		t.Errorf("%d allowed pages cannot be reached", unreachable)
	}
	if chains < 300 {
		t.Errorf("only %d pages lead to just one other: no deep chains", chains)
	}
}

// Each door has its own name server and addresses, and each request says
// through which it came.
//
//race:meets
func TestDoorsTellClientsApart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var doors []int
	w := newWeb(t, Config{Hosts: 3, Addrs: 2, Doors: 3, OnRequest: func(r Request) {
		mu.Lock()
		defer mu.Unlock()
		if doors = append(doors, r.Door); !r.Answered {
			t.Errorf("%+v is not answered", r)
		}
	}})
	s, err := w.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		Timeout:   30 * time.Second,
	}
	for door, server := range s.Doors {
		m := new(dns.Msg)
		m.SetQuestion("h2.sim.test.", dns.TypeA)
		answer, _, err := (&dns.Client{Timeout: 10 * time.Second}).ExchangeContext(ctx, m,
			server.String())
		if err != nil || len(answer.Answer) != 1 {
			t.Fatalf("door %d: %v, %v", door, answer, err)
		}
		ip := answer.Answer[0].(*dns.A).A.String()
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+net.JoinHostPort(ip, w.port[1:])+"/",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "h2.sim.test"
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(doors) // a request is reported after its answer, so in any order
	if len(doors) != 3 || doors[0] != 0 || doors[1] != 1 || doors[2] != 2 {
		t.Errorf("requests came through the doors %v, want 0, 1, 2", doors)
	}
}
