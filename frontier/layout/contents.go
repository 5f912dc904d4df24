package layout

import "crawlnode/crawl"

// EncodeContent writes what is known of a payload.
//
//	version, 16 bytes record, str node, time fetched, rest URL
func EncodeContent(o *crawl.Original) []byte {
	w := newEncoder(28 + len(o.Node) + len(o.URL))
	w.bytes(o.Record[:])
	w.str(string(o.Node))
	w.time(o.FetchedAt)
	w.rest(o.URL)
	return w.b
}

// DecodeContent reads what EncodeContent has written.
func DecodeContent(b []byte) (o crawl.Original, err error) {
	r := newDecoder(b)
	copy(o.Record[:], r.take(uint64(len(o.Record))))
	o.Node = crawl.NodeID(r.str())
	o.FetchedAt = r.time()
	o.URL = string(r.rest())
	return o, r.end("first capture of a payload")
}
