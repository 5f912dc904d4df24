package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// answerOf runs a verb and reads its answer.
func answerOf[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	code, stdout, stderr := run(t, "", append(args, "-o", "json")...)
	if code != 0 {
		t.Fatalf("%v ends with %d: %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("%v: %v: %s", args, err, stdout)
	}
	return v
}

// brokenLinks lists the broken links with their pages.
func brokenLinks(t *testing.T, from ...string) map[string]string {
	t.Helper()
	code, stdout, stderr := run(t, "",
		append([]string{"urls", "list", "--state", "broken", "--referrer", "-o", "json"}, from...)...)
	if code != 0 {
		t.Fatalf("urls list %v ends with %d: %s", from, code, stderr)
	}
	links := map[string]string{}
	for line := range strings.Lines(stdout) {
		var l crawl.URLLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		links[l.URL] = "-"
		if l.Referrer != nil {
			links[l.URL] = *l.Referrer
		}
	}
	return links
}

// The data directories of three nodes answer after their end as the cluster did before: URLs,
// hosts, lists, settings and counters. One of them names what it has not.
func TestDirectoriesAnswer(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 33, Hosts: 12, PagesPerHost: 10, Skew: -1}.Quirky())
	c := simCluster(t, srv, 0)
	c.addReady(3)
	c.converged(30 * time.Second)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(2 * time.Minute)
	pages := reachable(web)
	running, dirs := []string{"--addr", c.nodes[1].http}, []string{}
	for _, n := range c.nodes {
		dirs = append(dirs, "--data-dir", n.dir)
	}

	// what is compared, as text: all but what only a running node knows
	answers := func(from []string) map[string]string {
		all := map[string]string{}
		keep := func(name string, v any) {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(b)
		}
		for i := 0; i < len(pages); i += 7 {
			r := answerOf[crawl.URLReport](t, append([]string{"urls", "why", pages[i]}, from...)...)
			// on another timeline
			r.Links, r.Robots.FetchedAt, r.Robots.ExpiresAt = crawl.LinksReport{}, nil, nil
			keep("url "+pages[i], r)
			if r.Host == nil {
				t.Fatalf("%s: %+v", pages[i], r)
			}
			h := answerOf[crawl.HostReport](t,
				append([]string{"hosts", "show", string(*r.Host)}, from...)...)
			for i := range h.Robots {
				h.Robots[i].FetchedAt, h.Robots[i].ExpiresAt = time.Time{}, time.Time{}
			}
			keep("host "+string(*r.Host), []any{h.Host, h.Partition, h.Owner, h.Holder, h.Queued, h.ByBand,
				h.Suspicious, h.SuspiciousBudget, h.Robots})
		}
		s := answerOf[crawl.Status](t, append([]string{"status"}, from...)...)
		keep("status", []any{s.Cluster.Name, s.Ring.Partitions, s.Ring.ReplicationFactor,
			s.Crawl.FinishReason, s.Crawl.Limits,
			s.Throughput.PagesTotal, s.Throughput.BytesInTotal, s.Frontier.Queued, s.Frontier.SeenTotal,
			s.Frontier.DuplicatesTotal,
			s.Frontier.Hosts.Total, s.Fetch, s.Links.Found, s.Output.RecordsTotal, s.Output.WARCFiles,
			s.Output.WARCBytesTotal,
			s.Output.ContentDuplicatesTotal})
		names := map[string]bool{}
		for _, n := range s.Nodes {
			names[n.Name] = true
		}
		keep("nodes", names)
		keep("settings", answerOf[crawl.CrawlReport](t,
			append([]string{"crawl-config", "show"}, from...)...))
		scope := answerOf[crawl.URLReport](t,
			append([]string{"scope", "test", "http://elsewhere.example/"}, from...)...)
		keep("scope", scope.Scope)
		keep("broken", brokenLinks(t, from...))
		return all
	}
	before := answers(running)
	if broken := brokenLinks(t, running...); len(broken) == 0 {
		t.Error("the web has no broken link: it is too small for this test")
	}
	c.stopAll(c.nodes[0])
	for _, n := range c.nodes {
		if code := n.exit(t, 20*time.Second); code != 0 {
			t.Errorf("%s: exit code %d\n%s", n.name, code, tail(n.log, 10))
		}
	}
	after := answers(dirs)
	for name := range maps.Keys(before) {
		if before[name] != after[name] {
			t.Errorf("%s:\nthe cluster: %s\ndirectories: %s", name, before[name], after[name])
		}
	}

	missing := 0
	for i := 0; i < len(pages); i += 7 {
		r := answerOf[crawl.URLReport](t, "urls", "why", pages[i], "--data-dir", c.nodes[0].dir)
		if r.Unanswered != nil {
			missing++
			if want := fmt.Sprintf("partition %d is not in the data directories",
				*r.Partition); !strings.Contains(*r.Unanswered, want) {
				t.Errorf("%s: %s, want %q", pages[i], *r.Unanswered, want)
			}
			if copied := answerOf[crawl.URLReport](t, "urls", "why", pages[i], "--copies", "--data-dir",
				c.nodes[0].dir, "--data-dir", c.nodes[1].dir); copied.Record == nil {
				t.Errorf("%s is in no copy: %+v", pages[i], copied)
			}
		}
	}
	if missing == 0 {
		t.Error("one of three directories has all")
	}
}
