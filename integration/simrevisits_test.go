package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	storereader "crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	recrawl "crawlnode/recrawl/visits"
)

// This file visits pages again in simulated clusters, and judges when.
//
//   - A page is never visited before its time, but for a completion that was lost (see excused).
//   - None is forgotten: once all is well, each is visited again and again, within the longest
//     interval and revisitSlack.
//   - The history of a page has all of its visits, whatever has happened to its partition.

// revisitSeeds is how many seeds there are for one in which pages are visited again: every second
// one of these with
// --recrawl adaptive and importance, the others with fixed.
const revisitSeeds = 3

// revisitSlack is how much later than its time a page may be visited when all is well: a host of
// eighty pages takes two minutes for all of them.
const revisitSlack = 3 * time.Minute

// simRevisits are the settings of revisits; the zero value has none.
type simRevisits struct {
	mode               string
	least, usual, most time.Duration
}

func (a simRevisits) on() bool { return a.mode != "" }

// revisit chooses them. It draws nothing, so it changes no other choice of a seed.
func (s *schedule) revisit(seed uint64) {
	switch {
	case seed%revisitSeeds != 2:
	case seed%2 == 0:
		s.again = simRevisits{crawl.RecrawlAdaptive, 3 * time.Minute, 5 * time.Minute, 8 * time.Minute}
	default:
		s.again = simRevisits{crawl.RecrawlFixed, time.Minute, 5 * time.Minute, 5 * time.Minute}
	}
}

// set gives a node the settings.
func (a simRevisits) set(c *config.Config) {
	if a.on() {
		c.Recrawl, c.RecrawlMin, c.RecrawlInterval, c.RecrawlMax = a.mode, a.least, a.usual, a.most
	}
}

// soonest is the shortest time between two visits of a page.
func (a simRevisits) soonest() time.Duration {
	if a.mode == crawl.RecrawlFixed {
		return a.usual
	}
	return a.least
}

// version makes a page change: each at intervals of its own, from minutes to hours, and every
// second one answers 304 as long as it has not.
func (a simRevisits) version(
	rw http.ResponseWriter,
	r *http.Request,
	status int,
	body string,
) (int, string) {
	if !a.on() || status != http.StatusOK || r.URL.Path == "/robots.txt" {
		return status, body
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Host + r.URL.Path)) // a hash takes all
	lasts := time.Minute << (h.Sum32() % 8)
	version := time.Now().UnixNano() / int64(lasts)
	if h.Sum32()/8%2 == 0 {
		tag := fmt.Sprintf("%q", fmt.Sprint("v", version))
		rw.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			return http.StatusNotModified, ""
		}
	}
	return status, body + "<p>" + strings.Repeat(fmt.Sprintf("words of version w%x ", version), 20)
}

// due reports whether a page could be due again when r began. The clocks of nodes are up to 2.5 %
// fast, and times are cut where they travel.
func (j *simJudge) due(old, r *simRequest) bool {
	return j.least > 0 && r.start.Sub(old.start) >= j.least*97/100-time.Second
}

// living calls each with the pages that exist, and their visits.
func (j *simJudge) living(each func(h *treeHost, page int, visits []*simRequest)) {
	for _, h := range j.web.hosts {
		v := j.hosts[h]
		v.mu.Lock()
		visits := map[string][]*simRequest{}
		for _, r := range v.log {
			if r.answered() {
				visits[r.path] = append(visits[r.path], r)
			}
		}
		v.mu.Unlock()
		for i := range h.pages {
			if h.pages[i].kind != treeMissing {
				each(h, i, visits[treePath(i)])
			}
		}
	}
}

// revisited lets the crawl go on until each page must have been visited again, and judges that. A
// crawl that visits again does not end.
func (s *simulation) revisited() {
	s.t.Helper()
	if !s.until(10*time.Minute, func() string {
		if n := s.web.size() - s.web.judge.progress(); n > 0 {
			return fmt.Sprintf("I4: %d pages are to come", n)
		}
		return ""
	}) {
		return
	}
	s.note("each page was visited")
	longest := s.plan.again.most + revisitSlack
	s.sleep(longest)
	begin := time.Now().Add(-longest)
	visits, late := 0, 0
	s.web.judge.living(func(h *treeHost, page int, log []*simRequest) {
		visits += len(log)
		if last := log[len(log)-1]; last.start.Before(begin) {
			if late++; late <= maxVerdicts {
				s.t.Errorf("I4: %s%s is forgotten: %d visits, the last one %v ago: %v", h.name, treePath(page),
					len(log), time.Since(last.start), last)
			}
		}
	})
	for _, name := range s.up() {
		if reason, ok := s.members[name].life.Finished(); ok {
			s.t.Errorf("%s says that a crawl with revisits has ended (%s)", name, reason)
		}
	}
	s.note("%d visits of %d pages", visits, s.web.size())
	s.histories()
}

// visitsEnd plans all visits so far away that none is due for the rest of the simulation, where
// importance is to come to rest.
func (s *simulation) visitsEnd() {
	s.t.Helper()
	if !s.ranked() || s.losesCash() {
		return
	}
	change := crawl.CrawlChange{Settings: map[string]json.RawMessage{
		"recrawl-max": json.RawMessage(`"720h"`), "recrawl-interval": json.RawMessage(`"360h"`),
		"recrawl-min": json.RawMessage(`"360h"`)}}
	s.until(time.Minute, func() string {
		if _, err := s.members[s.up()[0]].life.ChangeCrawl(context.Background(), change); err != nil {
			return fmt.Sprintf("changing the intervals: %v", err)
		}
		return ""
	})
}

// histories compares what the store knows of each page's visits with those that the web has seen.
// Visits whose completions may have been lost need not be known.
func (s *simulation) histories() {
	s.t.Helper()
	known := map[string]int{}
	for _, name := range s.up() {
		if err := historiesOf(s.members[name].store, known); err != nil {
			s.t.Errorf("%s: %v", name, err)
		}
	}
	lost, compared := 0, 0
	s.web.judge.living(func(h *treeHost, page int, log []*simRequest) {
		sure := 0
		for i, r := range log {
			// The newest may not have been stored yet; what was made again at once counts once.
			if i+1 < len(log) && s.web.judge.due(r, log[i+1]) && !excused(r, log[i+1], s.troubles) {
				sure++
			}
		}
		compared += min(sure, recrawl.MaxPast)
		if got := known[s.web.url(h, page)]; got < min(sure, recrawl.MaxPast) {
			if lost++; lost <= maxVerdicts {
				s.t.Errorf("I4: the history of %s%s has %d visits, the web has seen %d", h.name, treePath(page),
					got, len(log))
			}
		}
	})
	s.note("%d visits of %d histories compared", compared, len(known))
}

// historiesOf notes how many visits the held partitions of a store know of each page.
func historiesOf(store *storage.Memory, known map[string]int) error {
	snap, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	states, _, err := storereader.States(snap)
	if err != nil {
		return err
	}
	for p, st := range states {
		if st.State != layout.Holder {
			continue
		}
		v := storereader.Partition{
			Snapshot:   snap,
			Generation: layout.Generation{Partition: p, Number: st.Generation},
		}
		if err := historiesIn(&v, known); err != nil {
			return err
		}
	}
	return nil
}

func historiesIn(v *storereader.Partition, known map[string]int) error {
	it := v.Iterate([]byte{layout.TableRecords})
	defer it.Close()
	for it.Seek(v.Abs([]byte{layout.TableRecords})); it.Valid(); it.Next() {
		host, _, ok := layout.ParseRecordKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return fmt.Errorf("record key %x", it.Key())
		}
		value, err := it.Value()
		if err != nil {
			return err
		}
		rec, err := layout.DecodeRecord(value)
		if err != nil {
			return err
		}
		if r, _, err := recrawl.Decode([]byte(rec.Visits)); err == nil {
			known["http://"+string(host)+string(rec.Rest)] = len(r.Past)
		}
	}
	return nil
}
