package heartbeat

import (
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// This file is pure. It takes out of a block what changes every second although the node does
// nothing, so that the rest is sent only when it has changed.

// split returns a block without its vitals, and these.
func split(b crawl.NodeBlock) (rest crawl.NodeBlock, v *peer.Vitals) {
	n := &b.Node
	v = &peer.Vitals{UptimeSeconds: n.UptimeSeconds, LeaseSeconds: n.LeaseRemainingSeconds, RssBytes: n.RSSBytes,
		DiskFreeBytes: n.DiskFreeBytes, WarcDiskFreeBytes: n.WARCDiskFreeBytes}
	if !b.At.IsZero() {
		v.AtNs = b.At.UnixNano()
	}
	if due := b.Revisits.NextDue; due != nil {
		ns := int64(*due)
		v.NextDueNs = &ns
	}
	b.At, b.Revisits.NextDue = time.Time{}, nil
	n.UptimeSeconds, n.LeaseRemainingSeconds, n.RSSBytes, n.DiskFreeBytes, n.WARCDiskFreeBytes = nil, nil, nil, nil, nil
	if b.Load != nil {
		load := *b.Load
		v.Cpu, v.Machine, v.DiskWait = load.CPU, load.Machine, load.DiskWait
		load.CPU, load.Machine, load.DiskWait = 0, 0, 0
		b.Load = &load
	}
	return b, v
}

// join is the block that split has parted. It changes nothing that rest points to: others read it.
func join(rest crawl.NodeBlock, v *peer.Vitals) crawl.NodeBlock {
	b := rest
	n := &b.Node
	if at := v.GetAtNs(); at != 0 {
		b.At = time.Unix(0, at).UTC()
	} else {
		b.At = time.Time{}
	}
	b.Revisits.NextDue = nil
	n.UptimeSeconds, n.LeaseRemainingSeconds, n.RSSBytes, n.DiskFreeBytes, n.WARCDiskFreeBytes = nil, nil, nil, nil, nil
	if v != nil {
		n.UptimeSeconds, n.LeaseRemainingSeconds, n.RSSBytes = v.UptimeSeconds, v.LeaseSeconds, v.RssBytes
		n.DiskFreeBytes, n.WARCDiskFreeBytes = v.DiskFreeBytes, v.WarcDiskFreeBytes
		if v.NextDueNs != nil {
			due := time.Duration(*v.NextDueNs)
			b.Revisits.NextDue = &due
		}
	}
	if b.Load != nil {
		load := *b.Load
		load.CPU, load.Machine, load.DiskWait = v.GetCpu(), v.GetMachine(), v.GetDiskWait()
		b.Load = &load
	}
	return b
}

// numbers reports whether all vitals are numbers. Others cannot be shown: JSON has none.
func numbers(v *peer.Vitals) bool {
	for _, f := range []float64{v.GetUptimeSeconds(), v.GetLeaseSeconds(), v.GetCpu(), v.GetMachine(), v.GetDiskWait()} {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}
