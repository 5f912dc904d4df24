package integration

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/upload/s3test"
	"crawlnode/simweb"
)

var storeAway = flag.Duration("storeaway", 75*time.Second,
	"how long the object store of TestStoreAway is away")

// TestStoreAway: the object store of two nodes goes away for a while. The crawl goes on at its
// pace, the health of the cluster names the store, no file goes from a disk; within a minute of its
// return the nodes use it again, and in the end it has all of them.
func TestStoreAway(t *testing.T) {
	needsProcesses(t)
	t.Parallel() // the pace is that of politeness, and leaves the processors to others
	const hosts, delay = 24, time.Second
	store := s3test.New(t.Cleanup)
	door := openDoorTo(t, store)
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         43,
		Hosts:        hosts,
		PagesPerHost: int(1.5*storeAway.Seconds()) + 20,
		PageBytes:    16_000,
		Skew:         -1,
	})
	c := simCluster(t, srv, delay)
	c.uploading(2, "http://"+door.addr)
	watched := watchFinished(t, store, c)
	c.nodes[0].seed(web.Seeds()...)
	stored := func() int { bodies, _ := store.Objects(); return len(bodies) }
	until(t, 2*time.Minute, func() string {
		if n := stored(); n < 2 {
			return fmt.Sprintf("%d objects", n)
		}
		return ""
	})
	door.close()
	left, begun, before := time.Now(), web.Progress(), stored()
	named, pages := time.Duration(0), 0
	least := int(hosts * storeAway.Seconds() / 2) // half of what politeness allows in that time
	until(t, *storeAway+time.Minute, func() string {
		if why := uploadFails(t, c.nodes[1]); named == 0 && why != "" {
			named = time.Since(left)
			t.Logf("after %v: %s", named.Round(time.Second), why)
		}
		if pages = web.Progress() - begun; pages < least || time.Since(left) < *storeAway {
			return fmt.Sprintf("%d pages while the store was away, at least %d are to come", pages, least)
		}
		return ""
	})
	waiting := c.nodes[0].uploads(t)
	if named == 0 || waiting.Queued == 0 || waiting.Failed == 0 || waiting.Behind == 0 ||
		stored() != before {
		t.Errorf("named after %v, the status says %+v, the store has got %d objects", named, waiting,
			stored()-before)
	}
	door.open()
	back := time.Now()
	until(t, time.Minute, func() string {
		if stored() == before {
			return "the store is back, and gets nothing"
		}
		return ""
	})
	used := time.Since(back)
	until(t, 3*time.Minute, func() string {
		if why := uploadFails(t, c.nodes[0]); why != "" {
			return why
		}
		if s := c.nodes[0].uploads(t); s.Queued > 2 {
			return fmt.Sprintf("%d files wait", s.Queued)
		}
		return ""
	})
	empty := time.Since(back)
	c.finished(5 * time.Minute)
	c.stop()
	files := watched.end()
	if n := stored(); n < files {
		t.Errorf("%d files were seen on the disks, the store has %d", files, n)
	}
	if missing := reachableCount(web) - web.Progress(); missing > 0 {
		t.Errorf("%d pages were not fetched", missing)
	}
	t.Logf("away for %v: %d pages of %d at most, %d files waited, named after %v; "+
		"used again after %v, nothing waits after %v; %d files, load %s", *storeAway, pages,
		int(hosts*storeAway.Seconds()), waiting.Queued, named.Round(time.Second), used.Round(time.Second),
		empty.Round(time.Second), files, loadAverage())
}

// uploadFails is what the health of the cluster says of the object store; "" is nothing.
func uploadFails(t *testing.T, n *node) string {
	t.Helper()
	var s crawl.Status
	if err := n.decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Cluster.Health.Reasons,
		func(r crawl.HealthReason) bool { return r.Code == crawl.ReasonUploadFails })
	if i < 0 {
		return ""
	}
	if why := s.Cluster.Health.Reasons[i].Message; strings.Contains(why, "refused") &&
		strings.Contains(why, "warc/") {
		return why
	}
	t.Errorf("the health does not say what is wrong: %s", s.Cluster.Health.Reasons[i].Message)
	return s.Cluster.Health.Reasons[i].Message
}

// storeDoor is an address at which a server can be away: connections are refused then.
type storeDoor struct {
	t       *testing.T
	addr    string
	handler http.Handler
	server  *http.Server
}

func openDoorTo(t *testing.T, h http.Handler) *storeDoor {
	t.Helper()
	d := &storeDoor{t: t, addr: fmt.Sprint("127.0.0.1:", freePort(t)), handler: h}
	d.open()
	t.Cleanup(d.close)
	return d
}

func (d *storeDoor) open() {
	d.t.Helper()
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.server = &http.Server{Handler: d.handler}
	go func(s *http.Server) { _ = s.Serve(l) }(d.server) // ends with Close
}

// close ends all connections too.
func (d *storeDoor) close() { _ = d.server.Close() }
