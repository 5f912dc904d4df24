package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"golang.org/x/sync/errgroup"
)

// ErrMissing says that the store has no such object.
var ErrMissing = errors.New("the store has no such object")

// S3 is an object store that speaks the S3 protocol.
type S3 struct {
	core   *minio.Core
	target Target
	sse    encrypt.ServerSide // nil: as the bucket says
	least  int64              // size of a part, at the least
	atOnce int                // parts that are sent at once
}

// partsAtOnce keeps two processors busy, and bounds what a node has open.
const partsAtOnce = 2

// NewS3 makes the client. It sends nothing yet. Credentials are those of the environment
// (AWS_ACCESS_KEY_ID or MINIO_ROOT_USER), of ~/.aws/credentials, or of the machine's role.
// transport is nil but in tests.
func NewS3(t Target, transport http.RoundTripper) (*S3, error) {
	endpoint := t.Endpoint
	if endpoint == "" {
		endpoint = "s3.amazonaws.com"
	}
	lookup := map[string]minio.BucketLookupType{
		"path": minio.BucketLookupPath,
		"dns":  minio.BucketLookupDNS,
	}[t.Lookup]
	core, err := minio.NewCore(endpoint, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		// Failures are counted and waited for by the caller.
		Secure:       !t.Plain,
		Region:       t.Region,
		BucketLookup: lookup,
		MaxRetries:   1,
		Transport:    transport,
	})
	if err != nil {
		return nil, err
	}
	s := &S3{core: core, target: t, least: leastPart, atOnce: partsAtOnce}
	switch t.SSE {
	case "AES256":
		s.sse = encrypt.NewSSE()
	case "aws:kms":
		if s.sse, err = encrypt.NewSSEKMS(t.KMSKey, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// slowest is the slowest transfer that is waited for, in bytes a second, and patience what each
// request has besides: a store that hangs is given up soon, to be there when it is back. A store
// may need minutes to put the parts of an object together.
const (
	slowest  = 64 << 10
	patience = 20 * time.Second
	together = 5 * time.Minute
)

// within bounds a request that moves so many bytes.
func within(ctx context.Context, bytes int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, patience+time.Duration(bytes/slowest)*time.Second)
}

// Put stores a file under a key and verifies that the store has it. It goes on with the parts of an
// attempt before. Put of a file that the store has only looks.
func (s *S3) Put(
	ctx context.Context,
	key string,
	f io.ReaderAt,
	size int64,
) (tag string, err error) {
	parts := split(size, partSize(size, s.least))
	tag, err = s.verify(ctx, key, f, parts, size)
	if !errors.Is(err, ErrMissing) && !errors.Is(err, errOther) {
		return tag, err
	}
	if len(parts) == 1 {
		err = s.putWhole(ctx, key, f, &parts[0])
	} else {
		err = s.putParts(ctx, key, f, parts)
	}
	if err != nil {
		return "", err
	}
	return s.verify(ctx, key, f, parts, size)
}

// secure reports whether nobody can change what is sent. Without TLS the signature of a request has
// the SHA-256 of its body.
func (s *S3) secure() bool { return !s.target.Plain }

func (s *S3) putWhole(ctx context.Context, key string, f io.ReaderAt, p *part) error {
	if err := p.digest(f, s.secure()); err != nil {
		return err
	}
	ctx, cancel := within(ctx, p.size)
	defer cancel()
	// The client would sign each chunk of a plain request, which digests the body again.
	o := minio.PutObjectOptions{
		ContentType:          contentType(key),
		ServerSideEncryption: s.sse,
		DisableContentSha256: true,
	}
	_, err := s.core.PutObject(ctx, s.target.Bucket, key, io.NewSectionReader(f, p.offset, p.size),
		p.size, p.base64MD5(), p.sha256, o)
	return err
}

// contentType is the media type of an object.
func contentType(key string) string {
	switch {
	case strings.HasSuffix(key, ".warc.gz"):
		return "application/warc+gzip"
	case strings.HasSuffix(key, ".warc.zst"):
		return "application/warc+zstd"
	case strings.HasSuffix(key, ".cdxj"):
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// putParts sends the parts that the store does not have yet, some at once: one is digested while
// another is sent.
func (s *S3) putParts(ctx context.Context, key string, f io.ReaderAt, parts []part) error {
	id, have, err := s.resume(ctx, key)
	if err != nil {
		return err
	}
	if id == "" {
		short, cancel := within(ctx, 0)
		defer cancel()
		if id, err = s.core.NewMultipartUpload(short, s.target.Bucket, key, minio.PutObjectOptions{
			ContentType:          contentType(key),
			ServerSideEncryption: s.sse,
		}); err != nil {
			return err
		}
	}
	done := make([]minio.CompletePart, len(parts))
	group, sending := errgroup.WithContext(ctx)
	group.SetLimit(s.atOnce)
	for i := range parts {
		group.Go(func() (err error) {
			if done[i], err = s.putPart(sending, key, id, f, i+1, &parts[i], have); err != nil {
				return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	long, cancel := context.WithTimeout(ctx, together)
	defer cancel()
	_, err = s.core.CompleteMultipartUpload(long, s.target.Bucket, key, id, done,
		minio.PutObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).StatusCode/100 == 4 {
		// The store takes exception to the parts: the next attempt begins with none of them.
		err = errors.Join(err, s.core.AbortMultipartUpload(long, s.target.Bucket, key, id))
	}
	return err
}

// putPart sends a part, unless it is among those that the store has.
func (s *S3) putPart(
	ctx context.Context,
	key, id string,
	f io.ReaderAt,
	number int,
	p *part,
	have map[int]minio.ObjectPart,
) (minio.CompletePart, error) {
	if ctx.Err() != nil {
		return minio.CompletePart{}, ctx.Err() // another part has failed
	}
	if err := p.digest(f, s.secure()); err != nil {
		return minio.CompletePart{}, err
	}
	if old, ok := have[number]; ok && old.Size == p.size && unquoted(old.ETag) == p.hexMD5() {
		return minio.CompletePart{PartNumber: number, ETag: old.ETag}, nil
	}
	ctx, cancel := within(ctx, p.size)
	defer cancel()
	sent, err := s.core.PutObjectPart(ctx, s.target.Bucket, key, id, number,
		io.NewSectionReader(f, p.offset, p.size), p.size,
		minio.PutObjectPartOptions{
			Md5Base64:            p.base64MD5(),
			Sha256Hex:            p.sha256,
			DisableContentSha256: true,
		})
	return minio.CompletePart{PartNumber: number, ETag: sent.ETag}, err
}

// resume finds the newest upload of a key that was not completed, with its parts by number.
func (s *S3) resume(
	ctx context.Context,
	key string,
) (id string, have map[int]minio.ObjectPart, err error) {
	ctx, cancel := within(ctx, 0)
	defer cancel()
	open, err := s.core.ListMultipartUploads(ctx, s.target.Bucket, key, "", "", "", 100)
	if err != nil {
		return "", nil, err
	}
	var newest minio.ObjectMultipartInfo
	for _, u := range open.Uploads {
		if u.Key == key && (newest.UploadID == "" || u.Initiated.After(newest.Initiated)) {
			newest = u
		}
	}
	if newest.UploadID == "" {
		return "", nil, nil
	}
	have = map[int]minio.ObjectPart{}
	for marker := 0; ; {
		page, err := s.core.ListObjectParts(ctx, s.target.Bucket, key, newest.UploadID, marker, 1000)
		if err != nil {
			return "", nil, err
		}
		for _, p := range page.ObjectParts {
			have[p.PartNumber] = p
		}
		if marker = page.NextPartNumberMarker; !page.IsTruncated || marker == 0 {
			return newest.UploadID, have, nil
		}
	}
}

func unquoted(tag string) string { return strings.Trim(tag, `"`) }

// errOther says that the object is another one.
var errOther = errors.New("the object has other content")

// verify compares an object with a file: by size and entity tag or, when the tag says something
// else, by its bytes. It returns the tag that the file's bytes have.
func (s *S3) verify(
	ctx context.Context,
	key string,
	f io.ReaderAt,
	parts []part,
	size int64,
) (tag string, err error) {
	short, cancel := within(ctx, 0)
	defer cancel()
	info, err := s.core.StatObject(short, s.target.Bucket, key, minio.StatObjectOptions{})
	switch {
	case isMissing(err):
		return "", fmt.Errorf("%w: %s", ErrMissing, key)
	case err != nil:
		return "", err
	case info.Size != size:
		return "", fmt.Errorf("%w: %s has %d bytes, the file %d", errOther, key, info.Size, size)
	}
	if tag, err = tagOf(f, parts, s.secure()); err != nil || unquoted(info.ETag) == tag {
		return tag, err
	}
	long, cancel := within(ctx, size)
	defer cancel()
	switch at, err := differ(f, &reader{s: s, ctx: long, key: key, size: size}, size); {
	case err != nil:
		return "", err
	case at >= 0:
		return "", fmt.Errorf("%w: %s differs in the MiB at %d", errOther, key, at)
	}
	return tag, nil
}

func isMissing(err error) bool {
	if err == nil {
		return false
	}
	e := minio.ToErrorResponse(err)
	return e.Code == "NoSuchKey" || e.StatusCode == http.StatusNotFound && e.Code != "NoSuchBucket"
}

// Open opens an object for reading at any place. ErrMissing: there is none.
func (s *S3) Open(ctx context.Context, key string) (r io.ReaderAt, size int64, err error) {
	var info minio.ObjectInfo
	if err := again(ctx, func() (err error) {
		short, cancel := within(ctx, 0)
		defer cancel()
		info, err = s.core.StatObject(short, s.target.Bucket, key, minio.StatObjectOptions{})
		if isMissing(err) {
			return fmt.Errorf("%w: %s", ErrMissing, key)
		}
		return err
	}); err != nil {
		return nil, 0, err
	}
	return &reader{s: s, ctx: ctx, key: key, size: info.Size}, info.Size, nil
}

// readTries is how often a reader tries, who waits for the answer; and readPause the first pause.
const (
	readTries = 4
	readPause = 400 * time.Millisecond
)

// again tries to read until it works, or until an object is missing.
func again(ctx context.Context, read func() error) error {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: readPause, MaxInterval: 4 * readPause, Multiplier: 2,
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := read()
		if errors.Is(err, ErrMissing) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(readTries))
	return err
}

// reader reads an object by ranges, of at least readAhead bytes.
type reader struct {
	s    *S3
	ctx  context.Context //nolint:containedctx // io.ReaderAt has none
	key  string
	size int64

	at   int64 // of have
	have []byte
}

// readAhead is how many bytes are asked for at least.
const readAhead = 1 << 20

// ReadAt implements io.ReaderAt. It is not for several goroutines.
func (r *reader) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		if off >= r.size {
			return n, io.EOF
		}
		if off < r.at || off >= r.at+int64(len(r.have)) {
			if err := again(r.ctx, func() error { return r.fetch(off) }); err != nil {
				return n, err
			}
		}
		k := copy(p[n:], r.have[off-r.at:])
		n, off = n+k, off+int64(k)
	}
	return n, nil
}

func (r *reader) fetch(off int64) error {
	end := min(off+readAhead, r.size)
	ctx, cancel := within(r.ctx, end-off)
	defer cancel()
	var o minio.GetObjectOptions
	if err := o.SetRange(off, end-1); err != nil {
		return err
	}
	body, _, _, err := r.s.core.GetObject(ctx, r.s.target.Bucket, r.key, o)
	if err != nil {
		return err
	}
	r.at, r.have = off, make([]byte, end-off)
	_, err = io.ReadFull(body, r.have)
	if err = errors.Join(err, body.Close()); err != nil {
		r.have = nil
		return fmt.Errorf("read %s at %d: %w", r.key, off, err)
	}
	return nil
}
