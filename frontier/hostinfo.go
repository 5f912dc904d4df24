package frontier

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// HostInfo is what the store knows of one host.
type HostInfo = reader.HostInfo

// HostInfo reads a host; ok is false when it has no record. It reads no URL, so
// its cost does not grow with the queue. It fails with ErrNotHolder when nothing
// of the partition is here.
func (f *Frontier) HostInfo(
	p crawl.Partition,
	host crawl.Host,
) (info HostInfo, ok bool, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return info, false, err
	}
	defer v.Close()
	return v.HostInfo(host)
}

// HostCookies returns the jar that a host's last answer left, in the form of package web/cookies;
// "": none. It fails with ErrNotHolder when nothing of the partition is here.
func (f *Frontier) HostCookies(p crawl.Partition, host crawl.Host) (string, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return "", err
	}
	defer v.Close()
	jar, _, err := v.Get(layout.AppendCookiesKey(nil, host))
	if err != nil {
		return "", fmt.Errorf("frontier: cookies of %s: %w", host, err)
	}
	return string(jar), nil
}

// Block has nobody request a host before until. The zero time ends that. It fails with
// ErrUnknownHost if no URL of the host was ever queued.
func (f *Frontier) Block(
	ctx context.Context,
	p crawl.Partition,
	host crawl.Host,
	until time.Time,
) error {
	return f.change(ctx, func(g group) error { return g.part(p).Block(host, until) })
}

// SetDelay has a host requested at least so far apart, whatever else its gap is; 0: at its usual
// gap. It fails with ErrUnknownHost if no URL of the host was ever queued.
func (f *Frontier) SetDelay(
	ctx context.Context,
	p crawl.Partition,
	host crawl.Host,
	d time.Duration,
) error {
	return f.change(ctx, func(g group) error { return g.part(p).Delay(host, d) })
}

// SuspiciousPerHost is the number of URLs that look like a trap which one host
// may have.
func (f *Frontier) SuspiciousPerHost() int64 { return f.o.SuspiciousPerHost() }

// Site is what revisits know of a host's pages together, a recrawl.Site; "": nothing. It fails with
// ErrNotHolder when nothing of the partition is here.
func (f *Frontier) Site(p crawl.Partition, host crawl.Host) (string, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return "", err
	}
	defer v.Close()
	e, err := v.Host(host)
	if err != nil || e == nil {
		return "", err
	}
	return e.Site, nil
}
