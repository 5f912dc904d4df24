package order

import (
	"bytes"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
	"crawlnode/web/urlnorm"
)

// Rise is a queued URL of which links say more than before.
type Rise struct {
	URL  opic.URL
	Link float64 // the part of its score that links make
}

// Raise moves a queued URL to a better band.
type Raise struct {
	Host  crawl.Host
	URL   urlnorm.URL
	From  layout.QueueSlot
	To    crawl.Band
	Score float64
}

// Find looks up which of the URLs are in queues, and returns those that are to be moved. They are
// looked up in a snapshot: who moves one looks whether it still stands there.
func Find(v *reader.Partition, p *Policy, rises []Rise) ([]Raise, error) {
	f := finder{
		v:       v,
		p:       p,
		hosts:   v.Iterate([]byte{layout.TableCash, layout.CashHosts}),
		records: v.Iterate([]byte{layout.TableRecords}),
	}
	defer f.hosts.Close()
	defer f.records.Close()
	for _, r := range rises {
		if err := f.rise(r); err != nil {
			return nil, err
		}
	}
	return f.found, nil
}

type finder struct {
	v              *reader.Partition
	p              *Policy
	hosts, records storage.Iterator
	found          []Raise

	number uint64      // whose hosts are in names
	names  []namedHost // of that number: one, but for chance
}

type namedHost struct {
	name  crawl.Host
	entry *layout.HostEntry
}

func (f *finder) rise(r Rise) error {
	if err := f.look(r.URL); err != nil {
		return err
	}
	for _, h := range f.names {
		if h.entry.Total() == 0 {
			continue
		}
		find := f.queued
		if h.entry.Inline != nil {
			find = f.inline
		}
		if err := find(h, r); err != nil {
			return err
		}
	}
	return nil
}

// look reads the hosts of a URL's number.
func (f *finder) look(u opic.URL) error {
	if f.names != nil && f.number == u.Host() {
		return nil
	}
	f.number, f.names = u.Host(), make([]namedHost, 0, 1)
	prefix := bytes.Clone(f.v.Abs(layout.AppendHostNumberKey(nil, layout.CashHosts, u)))
	for f.hosts.Seek(prefix); f.hosts.Valid() &&
		bytes.HasPrefix(f.hosts.Key(), prefix); f.hosts.Next() {
		name := layout.HostOfKey(f.hosts.Key()[layout.PrefixLen:])
		e, err := f.v.Host(name)
		if err != nil {
			return err
		}
		if e != nil {
			f.names = append(f.names, namedHost{name, e})
		}
	}
	return nil
}

// inline looks at the only URL of a host.
func (f *finder) inline(h namedHost, r Rise) error {
	s := h.entry.Inline
	it, err := s.Item(h.name)
	if err != nil || layout.NumberOf(it.URL) != r.URL {
		return err
	}
	return f.rescore(h.name, it.URL, layout.QueueSlot{Band: s.Band, Seq: s.Seq}, s.Entry, r.Link)
}

// queued looks at the records with the URL's number.
func (f *finder) queued(h namedHost, r Rise) error {
	prefix := bytes.Clone(f.v.Abs(layout.AppendNumberedKey(nil, h.name, r.URL)))
	for f.records.Seek(prefix); f.records.Valid() &&
		bytes.HasPrefix(f.records.Key(), prefix); f.records.Next() {
		value, err := f.records.Value()
		if err != nil {
			return err
		}
		if s, ok := layout.StateOf(value); !ok || s != crawl.Queued {
			continue
		}
		rec, err := layout.DecodeRecord(value)
		if err != nil {
			return fmt.Errorf("%w of host %s", err, h.name)
		}
		u, err := layout.JoinURL(h.name, rec.HTTPS, rec.Rest)
		if err != nil {
			return err
		}
		entry, ok, err := f.v.Slot(h.name, rec.Band, rec.Seq)
		if err != nil {
			return err
		}
		if ok {
			if err := f.rescore(h.name, u, layout.QueueSlot{
				Band: rec.Band,
				Seq:  rec.Seq,
			}, entry, r.Link); err != nil {
				return err
			}
		}
	}
	return nil
}

// rescore computes the band of a queued URL anew, and reports it when it is better.
func (f *finder) rescore(
	host crawl.Host,
	u urlnorm.URL,
	at layout.QueueSlot,
	entry []byte,
	link float64,
) error {
	q, err := layout.DecodeQueued(entry)
	if err != nil {
		return fmt.Errorf("%w of host %s", err, host)
	}
	if !q.Scored {
		return nil
	}
	score := f.p.Score(q.Base, link)
	if to, ok := f.p.Better(at.Band, score, len(q.MovedFrom)); ok {
		f.found = append(f.found, Raise{Host: host, URL: u, From: at, To: to, Score: score})
	}
	return nil
}
