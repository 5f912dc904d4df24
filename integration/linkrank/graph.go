package linkrank

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Graph is a web for the measurements: pages with links, on hosts. The links of a page are
// distinct and do not lead to the page itself.
type Graph struct {
	Links [][]uint32 // of each page, ascending
	Host  []uint32   // of each page
	Hosts int
	Seeds []uint32 // pages from which all others can be reached
	URLs  []string // of pages that were read; a drawn graph has none
}

// Count counts the links.
func (g *Graph) Count() (n int) {
	for _, l := range g.Links {
		n += len(l)
	}
	return n
}

// The copying model's figures. A page copies most of its links to other hosts from a page that is
// older, which gives in-links a power law (Kumar and others 2000, "Stochastic models for the web
// graph"); within a host it links to the home page, copies, or draws.
const (
	externalShare = 0.25
	copyExternal  = 0.6
	copyInternal  = 0.4
	homeShare     = 0.25
	danglingShare = 0.1
)

// Copying draws a graph of pages on hosts, whose sizes have a power law.
func Copying(r *rand.Rand, pages, hosts int) *Graph {
	g := &Graph{
		Links: make([][]uint32, pages),
		Host:  make([]uint32, pages),
		Hosts: hosts,
		Seeds: []uint32{0},
	}
	first := g.drawHosts(r, pages, hosts)
	external := make([][]uint32, pages) // of each page, its links to other hosts
	for host := range hosts {
		from, to := first[host], first[host+1]
		for p := from; p < to; p++ {
			g.drawPage(r, p, from, to, first[:host+1], external)
		}
		if host > 0 { // its home page is linked from an older host
			s := r.IntN(int(from))
			g.Links[s] = append(g.Links[s], from)
			external[s] = append(external[s], from)
		}
	}
	for p := range g.Links {
		slices.Sort(g.Links[p])
		g.Links[p] = slices.DeleteFunc(slices.Compact(g.Links[p]),
			func(t uint32) bool { return t == uint32(p) })
	}
	return g
}

// drawHosts gives the pages to hosts: every host has one, the rest goes by a power law of the
// host's number, shuffled. It returns the first page of each host, and the end.
func (g *Graph) drawHosts(r *rand.Rand, pages, hosts int) (first []uint32) {
	weights := make([]float64, hosts)
	sum := 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -0.9)
		sum += weights[i]
	}
	r.Shuffle(hosts, func(i, j int) { weights[i], weights[j] = weights[j], weights[i] })
	first = make([]uint32, hosts+1)
	share, given := 0.0, 0
	for h := range hosts {
		first[h] = uint32(given)
		share += weights[h]
		end := max(given+1, h+1+int(float64(pages-hosts)*share/sum))
		if h == hosts-1 {
			end = pages
		}
		for ; given < end; given++ {
			g.Host[given] = uint32(h)
		}
	}
	first[hosts] = uint32(pages)
	return first
}

// drawPage draws the links of a page on the host with the pages from to to.
func (g *Graph) drawPage(r *rand.Rand, p, from, to uint32, homes []uint32, external [][]uint32) {
	if p > from { // it is linked from an older page of its host
		s := from + r.Uint32N(p-from)
		g.Links[s] = append(g.Links[s], p)
	}
	if r.Float64() < danglingShare && p > from {
		return
	}
	// A power law with the exponent 2.7 from 4 on: 10 links on average.
	n := min(int(4*math.Pow(1-r.Float64(), -1/1.7)), 200)
	for range n {
		if r.Float64() < externalShare {
			t := homes[r.IntN(len(homes))]
			if old := external[r.IntN(int(p)+1)]; r.Float64() < copyExternal && len(old) > 0 {
				t = old[r.IntN(len(old))]
			} else if r.Float64() < 0.2 {
				t = r.Uint32N(p + 1)
			}
			g.Links[p] = append(g.Links[p], t)
			external[p] = append(external[p], t)
			continue
		}
		switch old := g.Links[from+r.Uint32N(p-from+1)]; {
		case r.Float64() < homeShare:
			g.Links[p] = append(g.Links[p], from)
		case r.Float64() < copyInternal && len(old) > 0:
			g.Links[p] = append(g.Links[p], old[r.IntN(len(old))])
		default:
			g.Links[p] = append(g.Links[p], from+r.Uint32N(to-from))
		}
	}
}
