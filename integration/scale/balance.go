package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// burden is the content of a partition, or of a node.
type burden struct{ partitions, hosts, urls, pages float64 }

func (b *burden) add(o burden) {
	b.partitions += o.partitions
	b.hosts += o.hosts
	b.urls += o.urls
	b.pages += o.pages
}

// hostName writes the name of the host with this number into buf.
func hostName(buf []byte, number int) []byte {
	buf = append(buf[:0], "www.h"...)
	buf = strconv.AppendInt(buf, int64(number), 10)
	return append(buf, ".example"...)
}

// burdens puts the hosts into partitions. The host of rank i has a share of the
// URLs that falls as 1/i^exponent, and one URL at the least; of its pages no more
// than politeness allows are fetched.
func (s *settings) burdens(
	ctx context.Context,
	exponent float64,
	partitions []int,
) (map[int][]burden, error) {
	out := map[int][]burden{}
	for _, p := range partitions {
		out[p] = make([]burden, p)
		for i := range out[p] {
			out[p][i].partitions = 1
		}
	}
	scale := s.scale(exponent)
	var name []byte
	for i := 1; i <= s.hosts; i++ {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		name = hostName(name, i)
		host := crawl.Host(name)
		urls := 1 + scale*math.Pow(float64(i), -exponent)
		b := burden{hosts: 1, urls: urls, pages: min(urls, s.most)}
		for p, parts := range out {
			parts[ring.PartitionOf(host, p)].add(b)
		}
	}
	return out, nil
}

// scale is how many URLs the greatest host has, but for the one that each has.
func (s *settings) scale(exponent float64) float64 {
	sum := 0.0
	for i := 1; i <= s.hosts; i++ {
		sum += math.Pow(float64(i), -exponent)
	}
	return (s.urls - float64(s.hosts)) / sum
}

// uneven measures how unevenly something is distributed over the nodes.
type uneven struct{ most, deviation float64 } // over the mean

func unevenness(nodes []burden, of func(burden) float64) uneven {
	sum, most := 0.0, 0.0
	for _, n := range nodes {
		sum += of(n)
		most = max(most, of(n))
	}
	mean, squares := sum/float64(len(nodes)), 0.0
	for _, n := range nodes {
		squares += (of(n) - mean) * (of(n) - mean)
	}
	return uneven{most / mean, math.Sqrt(squares/float64(len(nodes))) / mean}
}

func (u uneven) String() string { return fmt.Sprintf("%.2f | %.3f", u.most, u.deviation) }

// onNodes sums the partitions by owner.
func (c *oneCase) onNodes(parts []burden) []burden {
	out := make([]burden, 0, c.nodes)
	for _, id := range c.table.Members() {
		var b burden
		for _, p := range c.table.OwnedBy(id) {
			b.add(parts[p])
		}
		out = append(out, b)
	}
	return out
}

func (s *settings) printBalance(
	ctx context.Context,
	out io.Writer,
	cases []*oneCase,
	exponent float64,
) error {
	parts, err := s.burdens(ctx, exponent, s.partitions)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nBalance, Zipf exponent %g: the greatest host has %.2g URLs. "+
		"Most and standard deviation are over the mean.\n\n", exponent, s.scale(exponent)+1)
	fmt.Fprintln(out, "| nodes | partitions | a node: fewest | most | sd | hosts: most | sd | URLs: "+
		"most | sd | pages: most | sd |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range cases {
		nodes := c.onNodes(parts[c.partitions])
		fewest := math.Inf(1)
		for _, n := range nodes {
			fewest = min(fewest, n.partitions)
		}
		own := unevenness(nodes, func(b burden) float64 { return b.partitions })
		fmt.Fprintf(out, "| %d | %d | %.0f | %.0f | %.3f | %v | %v | %v |\n", c.nodes, c.partitions,
			fewest, own.most*float64(c.partitions)/float64(c.nodes), own.deviation,
			unevenness(nodes, func(b burden) float64 { return b.hosts }),
			unevenness(nodes, func(b burden) float64 { return b.urls }),
			unevenness(nodes, func(b burden) float64 { return b.pages }))
	}
	return nil
}
