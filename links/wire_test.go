package links

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// linkTo is a link to a URL, found three links deep.
func linkTo(t testing.TB, url string) crawl.Routed {
	t.Helper()
	u, err := urlnorm.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return crawl.Routed{Partition: ring.PartitionOf(crawl.Host(u.Host()), 512),
		Target: crawl.Target{
			URL:        u,
			Depth:      3,
			Band:       2,
			Hops:       1,
			Via:        crawl.ViaSitemapFile,
			Again:      true,
			Suspicious: true,
		}}
}

func TestFromWire(t *testing.T) {
	t.Parallel()
	good := func() *peer.Link {
		l := linkTo(t, "http://a.test/x?y")
		l.Target.Claimed = time.Unix(1_790_000_000, 5)
		l.Target.From = "https://b.test/found?here"
		l.Target.Anchor = "what the link says"
		return wireOf(l)
	}
	r, err := fromWire(good(), 512)
	if err != nil {
		t.Fatal(err)
	}
	if again := wireOf(r); again.String() != good().String() {
		t.Errorf("%v became %v", good(), again)
	}
	if want := time.Unix(1_790_000_000, 5); !r.Target.Claimed.Equal(want) {
		t.Errorf("claimed at %v, want %v", r.Target.Claimed, want)
	}
	long := good()
	long.Anchor = strings.Repeat("é", 100)
	if r, err := fromWire(long, 512); err != nil ||
		r.Target.Anchor != strings.Repeat("é", crawl.MaxAnchor/2) {
		t.Errorf("a long text became %q, %v", r.Target.Anchor, err)
	}
	earlier := good() // of a node that runs an earlier version
	earlier.Url = "http://a.test/x^y"
	if r, err := fromWire(earlier, 512); err != nil || r.Target.URL.String() != earlier.Url {
		t.Errorf("%v became %v, %v", earlier, r, err)
	}
	for name, change := range map[string]func(l *peer.Link){
		"no URL":              func(l *peer.Link) { l.Url = "" },
		"not canonical":       func(l *peer.Link) { l.Url = "HTTP://A.test/x?y" },
		"a fragment":          func(l *peer.Link) { l.Url += "#f" },
		"another scheme":      func(l *peer.Link) { l.Url = "ftp://a.test/" },
		"another partition":   func(l *peer.Link) { l.Partition++ },
		"a partition too far": func(l *peer.Link) { l.Partition += 1 << 16 },
		"a band too far":      func(l *peer.Link) { l.Band = crawl.Bands },
		"a kind too far":      func(l *peer.Link) { l.Via = uint32(crawl.ViaSitemapFile) + 1 },
		"a depth too far":     func(l *peer.Link) { l.Depth = 1 << 31 },
		"hops too far":        func(l *peer.Link) { l.Hops = 256 },
		"found on no page":    func(l *peer.Link) { l.From = "b.test/" + strings.Repeat("x", 500) },
	} {
		l := good()
		change(l)
		if r, err := fromWire(l, 512); err == nil {
			t.Errorf("%s was taken: %+v", name, r)
		} else if len(err.Error()) > 1500 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

func FuzzFromWire(f *testing.F) {
	f.Add("http://a.test/", uint32(0), uint32(1), uint32(2), uint32(0), uint32(1), 512)
	f.Add("https://xn--bcher-kva.test:8443/%7e?q=%00", uint32(5), uint32(1<<31), uint32(8),
		uint32(255), uint32(9), 1)
	f.Add("http://\x00/", uint32(1<<31), uint32(0), uint32(0), uint32(256), uint32(0), 65536)
	f.Fuzz(func(t *testing.T, url string, partition, depth, band, hops, via uint32, partitions int) {
		if partitions < 1 || partitions > ring.MaxPartitions {
			return
		}
		l := &peer.Link{Url: url, Partition: partition, Depth: depth, Band: band, Hops: hops, Via: via}
		r, err := fromWire(l, partitions)
		if err != nil {
			return
		}
		if again := wireOf(r); again.String() != l.String() {
			t.Errorf("%v became %v", l, again)
		}
	})
}

// wireOf is the message of one link.
func wireOf(l crawl.Routed) *peer.Link { return toWire([]crawl.Routed{l})[0] }
