package listing

import (
	"bytes"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
)

// pieceRows is how many keys are read while an iterator is open.
const pieceRows = 256

// row is a stored URL that is not decoded yet.
type row struct {
	at    Position
	host  crawl.Host
	value []byte            // of its record; nil: it is inline
	entry *layout.InlineURL // of an inline URL
}

// rows are the rows of one table behind a place, read piece by piece.
type rows struct {
	view  *reader.Partition
	table byte
	only  crawl.Host // "": all hosts

	piece []row
	next  []byte   // relative key from which the next piece is read
	known Position // all rows up to here were read
	ended bool     // all rows were
	read  int      // keys
}

// newRows are the rows behind a place.
func newRows(v *reader.Partition, table byte, only crawl.Host, after Position) *rows {
	r := &rows{view: v, table: table, only: only, known: after}
	switch host := after.host(); {
	case table == layout.TableRecords && host != "" && (only == "" || host == only):
		r.next = append(append([]byte{table}, after...), 0) // the next key in order
	case table == layout.TableHosts && host != "" && only == "":
		r.next = layout.AppendHost(nil, table, host) // its inline URL may be behind the place
	default:
		r.next = r.prefix()
	}
	return r
}

// prefix begins all keys that may be of a row.
func (r *rows) prefix() []byte {
	if r.only == "" {
		return []byte{r.table}
	}
	key := layout.AppendHost(nil, r.table, r.only)
	if r.table == layout.TableRecords {
		key = append(key, 0)
	}
	return key
}

// nextKnown reports whether the next row is known, or that there is none up to a place which is
// behind that of the rows before.
func (r *rows) nextKnown(
	than Position,
) bool {
	return len(r.piece) > 0 || r.ended || r.known >= than
}

// fill reads the next piece.
func (r *rows) fill(after Position) error {
	it := r.view.Iterate(r.prefix())
	defer it.Close()
	r.piece = r.piece[:0]
	n := 0
	for it.Seek(r.view.Abs(r.next)); it.Valid(); it.Next() {
		rel := it.Key()[layout.PrefixLen:]
		if r.table == layout.TableHosts && r.only != "" && string(rel[1:]) != string(r.only) {
			break // a longer name
		}
		if n == pieceRows {
			r.next = bytes.Clone(rel)
			return nil
		}
		n++
		r.read++
		if err := r.take(it, rel, after); err != nil {
			return err
		}
	}
	r.ended = true
	return nil
}

// take reads the row of one key.
func (r *rows) take(it storage.Iterator, rel []byte, after Position) error {
	value, err := it.Value()
	if err != nil {
		return err
	}
	if r.table == layout.TableRecords {
		at := Position(rel[1:])
		if r.known = at; at <= after {
			return nil // the cursor is of a list of other hosts
		}
		r.piece = append(r.piece, row{at: at, host: at.host(), value: bytes.Clone(value)})
		return nil
	}
	host := crawl.Host(rel[1:])
	r.known = endOf(host)
	e, err := layout.DecodeHost(value)
	if err != nil || e.Inline == nil {
		return err
	}
	fp, err := e.Inline.Fingerprint(host)
	if err != nil {
		return err
	}
	if at := positionOf(host, fp); at > after {
		r.piece = append(r.piece, row{at: at, host: host, entry: e.Inline})
	}
	return nil
}
