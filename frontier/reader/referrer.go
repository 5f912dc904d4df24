package reader

import (
	"bytes"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// Refer replaces what names a record's referrer in the store by that page's URL; "" when its record
// is not there.
func (v *Partition) Refer(rec *crawl.Record) error {
	ref, host := layout.Referrer(rec.Referrer), layout.HostOf(rec.URL)
	rec.Referrer = ""
	if page, ok := ref.URL(); ok {
		rec.Referrer = page
		return nil
	}
	prefix, ok := ref.KeyPrefix(host)
	if !ok {
		return nil
	}
	it := v.Iterate(prefix)
	defer it.Close()
	if it.Seek(v.Abs(prefix)); !it.Valid() || !bytes.HasPrefix(it.Key(), v.Abs(prefix)) {
		return nil
	}
	value, err := it.Value()
	if err != nil {
		return err
	}
	found, err := layout.DecodeRecord(value)
	if err != nil {
		return fmt.Errorf("%w of host %s", err, host)
	}
	page, err := layout.JoinURL(host, found.HTTPS, found.Rest)
	rec.Referrer = page.String()
	return err
}
