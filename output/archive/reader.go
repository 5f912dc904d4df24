package archive

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // see encode.go
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/files"
)

// Bounds for reading. A header line longer than the buffer, or a block beyond the limit, counts as
// damage.
const (
	readBuffer     = 64 << 10
	maxHeaderLines = 256
	maxBlockBytes  = 1 << 30
	// plainMagic begins a record that is not compressed.
	plainMagic = "WARC/"
)

// Record is one record of a WARC file. Its memory is the reader's own: it may be
// kept.
type Record struct {
	Type      string // response, request, revisit, warcinfo...
	ID        string // urn:uuid:..., without brackets
	TargetURI string
	Date      time.Time
	Addr      netip.Addr // of the server; invalid when not recorded
	// Status is the HTTP status of a response or revisit, else 0.
	Status int
	// Head is the HTTP head with the empty line that ends it; nil without one.
	Head []byte
	// Payload is the rest of the block: the body as received, or all of a block that is not HTTP.
	Payload       []byte
	ContentType   string // WARC-Identified-Payload-Type
	PayloadDigest string
	BlockDigest   string
	Truncated     string // WARC-Truncated, or ""
	RefersToURI   string // of a revisit
	// Fields are all header fields.
	Fields textproto.MIMEHeader
	// File is the name of the file without its folder; "" when it was read from a stream.
	File string
	// Offset and Length are those of the record's gzip member or zstd frame, or of the record itself
	// in a file that is not compressed. Length is 0 when the member has other records too: then the
	// record cannot be read alone.
	Offset, Length int64

	cut *sums // of a block of which a part was not kept; else nil
}

// PayloadSize is the size of the payload in bytes, of which ScanDigests may have kept only a part.
func (r *Record) PayloadSize() int64 {
	if r.cut != nil {
		return r.cut.size
	}
	return int64(len(r.Payload))
}

// Verify compares the record with its digests. Missing digests, and digests other than SHA-1, are
// not checked.
func (r *Record) Verify() error {
	is := r.cut
	if is == nil {
		block := sha1.New()
		block.Write(r.Head)
		block.Write(r.Payload)
		is = &sums{block: digest([20]byte(block.Sum(nil))), payload: digest(sha1.Sum(r.Payload))}
	}
	if d := r.BlockDigest; differs(d, is.block) {
		return fmt.Errorf("record %s at %d: the block does not match %s", r.ID, r.Offset, d)
	}
	if d := r.PayloadDigest; r.Type == "response" && differs(d, is.payload) {
		return fmt.Errorf("record %s at %d: the payload does not match %s", r.ID, r.Offset, d)
	}
	return nil
}

// DamageError says that a WARC file has no whole record at Offset.
type DamageError struct {
	Offset int64
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("no whole record at offset %d: %v", e.Offset, e.Err)
}

// Unwrap gives the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// Scan reads the WARC file at path, finished or open, of whatever origin, and calls fn with each
// record in order: files that are not compressed, one member or frame a record, or a member for
// several. wholeBytes is the end of the last whole record for which fn returned nil. A torn or
// damaged file gives a *DamageError; an error of fn ends the scan and is returned as it is.
func Scan(path string, fn func(Record) error) (wholeBytes int64, err error) {
	return ScanFrom(path, 0, fn)
}

// ScanFrom is Scan from a record on that begins at an offset.
func ScanFrom(path string, offset int64, fn func(Record) error) (wholeBytes int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	name := nameOf(path)
	wholeBytes, err = scan(f, offset, maxBlockBytes, func(r Record) error {
		r.File = name
		return fn(r)
	})
	if damage, ok := errors.AsType[*DamageError](err); ok {
		return wholeBytes, fmt.Errorf("%s: %w", path, damage)
	}
	return wholeBytes, err
}

// nameOf is the name of a file when it is finished.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), openSuffix) }

// IsFile reports whether a path, or a name, is that of a WARC file, finished or open, compressed or
// not.
func IsFile(path string) bool {
	name := nameOf(path)
	return compressionOf(name) != "" || strings.HasSuffix(name, plainSuffix)
}

// isRegular reports whether an entry of a folder is a file, or a link to one.
func isRegular(dir string, e os.DirEntry) bool {
	if e.Type()&os.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	to, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && to.Mode().IsRegular()
}

// Files returns the paths of the WARC files in dir, finished and open, in the
// order in which they were begun.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if IsFile(e.Name()) && isRegular(dir, e) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// errEnough ends a scan after one record.
var errEnough = errors.New("enough")

// ReadRef reads the record that ref names in the folder dir; its length may be missing.
// ErrNoCapture: the file ends there.
func ReadRef(dir string, ref crawl.ArchiveRef) (Record, error) {
	if ref.File == "" || ref.File != filepath.Base(ref.File) {
		return Record{}, fmt.Errorf("%q is not the name of a file", ref.File)
	}
	path := filepath.Join(dir, ref.File)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(path + openSuffix)
	}
	if err != nil {
		return Record{}, err
	}
	defer func() { _ = f.Close() }()
	if ref.Length <= 0 { // it is not known: up to the end of the file
		ref.Length = math.MaxInt64 - ref.Offset
	}
	return readAt(f, ref)
}

// readAt reads the record at ref.
func readAt(f io.ReaderAt, ref crawl.ArchiveRef) (Record, error) {
	var record Record
	_, err := scan(io.NewSectionReader(f, ref.Offset, ref.Length), ref.Offset, maxBlockBytes,
		func(r Record) error {
			if r.Length == 0 {
				return &DamageError{Offset: r.Offset, Err: errShared}
			}
			record = r
			record.File = ref.File
			return errEnough
		})
	if err == nil {
		return Record{}, fmt.Errorf("%w: %s ends before offset %d", ErrNoCapture, ref.File, ref.Offset)
	}
	if !errors.Is(err, errEnough) {
		return Record{}, fmt.Errorf("%s: %w", ref.File, err)
	}
	return record, nil
}

// errShared is why a record cannot be read at its place.
var errShared = errors.New("the member has several records: only a reader of the whole file can " +
	"tell them apart")

// scan reads records from r, which begins at offset base of its file.
func scan(r io.Reader, base, maxBlock int64, fn func(Record) error) (whole int64, err error) {
	return scanKeeping(r, base, maxBlock, maxBlock, fn)
}

// scanKeeping is scan that keeps the first bytes of each block.
func scanKeeping(
	r io.Reader,
	base, maxBlock, keep int64,
	fn func(Record) error,
) (whole int64, err error) {
	in := &files.Source{R: r, N: base}
	members := bufio.NewReaderSize(in, readBuffer)
	text := bufio.NewReaderSize(nil, readBuffer)
	var d decompressor
	defer d.close()
	for {
		start := in.N - int64(members.Buffered())
		if _, err := members.Peek(1); err == io.EOF {
			return start, nil
		}
		stopped := false // fn has ended the scan
		err := readMember(&d, members, text, maxBlock, keep, func(record Record, shared bool) error {
			if record.Offset = start; !shared {
				record.Length = in.N - int64(members.Buffered()) - start
			}
			err := fn(record)
			stopped = err != nil
			return err
		})
		if in.Err != nil && !stopped {
			return start, fmt.Errorf("read at offset %d: %w", start, in.Err)
		}
		if err != nil && !stopped {
			err = &DamageError{Offset: start, Err: err}
		}
		if err != nil {
			return start, err
		}
	}
}

// readMember reads one member, and calls fn with its records. Most files have one a member; shared
// says that this one has more. A record that is not compressed stands for itself.
func readMember(d *decompressor, members, text *bufio.Reader, maxBlock, keep int64,
	fn func(r Record, shared bool) error,
) error {
	magic, _ := members.Peek(len(plainMagic)) // what is wrong, the next read says
	if string(magic) == plainMagic {
		record, err := readRecord(members, maxBlock, keep)
		if err != nil {
			return err
		}
		return fn(record, false)
	}
	member, err := d.open(members)
	if err != nil {
		return noEOF(err)
	}
	text.Reset(member)
	for n := 0; ; n++ {
		record, err := readRecord(text, maxBlock, keep)
		if err != nil {
			return err
		}
		// Only reading up to the end checks the member's checksum.
		begin, err := text.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("the member is damaged behind its record: %w", err)
		}
		more := err == nil
		if more && begin[0] != plainMagic[0] {
			return errors.New("the member continues after its record, and not with another one")
		}
		if err := fn(record, more || n > 0); err != nil || !more {
			return err
		}
	}
}

// readRecord reads one record with its end, and keeps the first bytes of its block.
func readRecord(text *bufio.Reader, maxBlock, keep int64) (Record, error) {
	fields, err := readHeader(text)
	if err != nil {
		return Record{}, noEOF(err)
	}
	length, err := strconv.ParseInt(fields.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 || length > maxBlock {
		return Record{}, fmt.Errorf("bad Content-Length %q", fields.Get("Content-Length"))
	}
	block, cut, err := readBlock(text, length, keep,
		strings.HasPrefix(fields.Get("Content-Type"), "application/http"))
	if err != nil {
		return Record{}, err
	}
	var end [4]byte
	if _, err := io.ReadFull(text, end[:]); err != nil || string(end[:]) != "\r\n\r\n" {
		return Record{}, errors.New("the record has no proper end")
	}
	r := newRecord(fields, block)
	r.cut = cut
	return r, nil
}

// noEOF turns an early end into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readHeader reads the version line and the fields up to the empty line.
func readHeader(text *bufio.Reader) (textproto.MIMEHeader, error) {
	line, err := readLine(text)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(line, "WARC/1.") {
		return nil, errors.New("the record does not begin with WARC/1")
	}
	fields := make(textproto.MIMEHeader)
	last := ""
	for range maxHeaderLines {
		line, err := readLine(text)
		if err != nil || line == "" {
			return fields, err
		}
		if values := fields[last]; (line[0] == ' ' || line[0] == '\t') && len(values) > 0 {
			values[len(values)-1] += " " + strings.TrimSpace(line) // a folded line
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return nil, errors.New("a header line has no name")
		}
		last = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		fields[last] = append(fields[last], strings.TrimSpace(value))
	}
	return nil, errors.New("the header has too many lines")
}

// readLine returns a line without its end.
func readLine(text *bufio.Reader) (string, error) {
	line, err := text.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

// newRecord assigns the fields and the block.
func newRecord(fields textproto.MIMEHeader, block []byte) Record {
	r := Record{
		Type: fields.Get("WARC-Type"), ID: strings.Trim(fields.Get("WARC-Record-ID"), "<>"),
		TargetURI: strings.Trim(fields.Get("WARC-Target-URI"), "<>"), Payload: block,
		ContentType:   fields.Get("WARC-Identified-Payload-Type"),
		PayloadDigest: fields.Get("WARC-Payload-Digest"), BlockDigest: fields.Get("WARC-Block-Digest"),
		Truncated:   fields.Get("WARC-Truncated"),
		RefersToURI: strings.Trim(fields.Get("WARC-Refers-To-Target-URI"), "<>"),
		Fields:      fields,
	}
	r.Date, _ = time.Parse(time.RFC3339, fields.Get("WARC-Date"))
	r.Addr, _ = netip.ParseAddr(fields.Get("WARC-IP-Address"))
	if !strings.HasPrefix(fields.Get("Content-Type"), "application/http") {
		return r
	}
	if end := bytes.Index(block, []byte("\r\n\r\n")); end >= 0 {
		r.Head, r.Payload = block[:end+4:end+4], block[end+4:]
	}
	if r.Type == "response" || r.Type == "revisit" {
		r.Status = statusOf(r.Head)
	}
	return r
}

// statusOf reads the status out of "HTTP/1.1 200 OK".
func statusOf(head []byte) int {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	parts := bytes.Fields(line)
	if len(parts) < 2 || !bytes.HasPrefix(parts[0], []byte("HTTP/")) {
		return 0
	}
	status, err := strconv.Atoi(string(parts[1]))
	if err != nil || status < 0 || status > 999 {
		return 0
	}
	return status
}
