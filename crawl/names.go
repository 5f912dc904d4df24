package crawl

import (
	"strconv"
	"time"
)

// Host is a lower-case host name or an IP literal (IPv6 in brackets), without
// port. It is the unit of placement and of politeness.
type Host string

// Partition numbers a slice of the hosts: xxhash64(host) mod P. P is fixed for
// the life of a cluster.
type Partition uint16

// NodeID is a node's stable random identity, kept in its data directory. It
// has no '#', which package ring uses as a terminator.
type NodeID string

// Boot counts the starts of one node, from 1. A higher boot of an id proves
// that the lower ones are gone.
type Boot uint64

// Epoch is the number of the view in which a partition's holder acquired it.
// Views count from 1, so 0 means "never held".
type Epoch uint64

// Seq numbers the mutations of one partition, from 1, without gaps, across holders.
type Seq uint64

// Band is a URL's priority class: 0 is fetched first.
type Band uint8

// Bands is the number of priority classes.
const Bands = 8

// Via is how a URL was found.
type Via uint8

// The ways in which a URL is found. The numbers are written to disk.
const (
	ViaLink        Via = iota // a link on a page
	ViaSeed                   // a person named it
	ViaRedirect               // a 3xx answer or a meta refresh pointed at it
	ViaSitemap                // a sitemap listed it
	ViaAsset                  // an image, script or style sheet (with --assets)
	ViaSitemapFile            // it is itself a sitemap file, not a page
	ViaRobots                 // another host's robots.txt redirects to it; never written to disk
	ViaGuess                  // a person named it without a scheme: https is tried, then http
	ViaPart                   // a page that is shown to a browser asks for it; never written to disk
	// a URL of another crawl, for a client that has asked; never written to disk as such
	ViaGuest
)

var viaNames = [...]string{"link", "seed", "redirect", "sitemap", "asset", "sitemap_file", "robots",
	"guess", "part", "guest"}

func (v Via) String() string {
	if int(v) < len(viaNames) {
		return viaNames[v]
	}
	return "via(" + strconv.Itoa(int(v)) + ")"
}

// Errand reports whether the fetch is for somebody who waits for the answer: it is in no queue on
// disk, and what it brings is neither stored nor counted as a page.
func (v Via) Errand() bool { return v == ViaRobots || v == ViaPart || v == ViaGuest }

// Named reports whether a person named the URL: it is a seed.
func (v Via) Named() bool { return v == ViaSeed || v == ViaGuess }

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
