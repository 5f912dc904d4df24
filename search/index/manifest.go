package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"crawlnode/local/files"
	"crawlnode/search/segment"
)

// The manifest names the segments of the index and what is deleted of them:
//
//	"crawlidx", format (1 byte: 1), uvarint number of the next segment, uvarint segments, and for each:
//	uvarint number, uvarint documents, uvarint words of the set of deleted documents, those (8 bytes each)
//	CRC-32C of all before it
//
// It is replaced as a whole, so an Apply is in the index or it is not.
const (
	manifestName   = "manifest"
	manifestMagic  = "crawlidx"
	manifestFormat = 1
)

// ErrFormat is returned by Open for an index of a later version.
var ErrFormat = errors.New("the index has a format that this version cannot read: " +
	"delete its folder, and it is filled again from the archive")

var errManifest = errors.New("the manifest is damaged")

type manifest struct {
	next  uint64
	parts []manifestPart
}

type manifestPart struct {
	number  uint64
	n       int
	deleted segment.Set
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m *manifest) encode() []byte {
	out := append([]byte(manifestMagic), manifestFormat)
	out = binary.AppendUvarint(out, m.next)
	out = binary.AppendUvarint(out, uint64(len(m.parts)))
	for _, p := range m.parts {
		out = binary.AppendUvarint(out, p.number)
		out = binary.AppendUvarint(out, uint64(p.n))
		out = binary.AppendUvarint(out, uint64(len(p.deleted)))
		for _, w := range p.deleted {
			out = binary.LittleEndian.AppendUint64(out, w)
		}
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

func decodeManifest(raw []byte) (manifest, error) {
	if len(raw) < len(manifestMagic)+5 || string(raw[:len(manifestMagic)]) != manifestMagic {
		return manifest{}, errManifest
	}
	if raw[len(manifestMagic)] != manifestFormat {
		return manifest{}, ErrFormat
	}
	body := raw[:len(raw)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(raw[len(raw)-4:]) {
		return manifest{}, errManifest
	}
	r := reader{rest: body[len(manifestMagic)+1:]}
	m := manifest{next: r.uvarint(1 << 62)}
	for range r.uvarint(1 << 20) {
		p := manifestPart{number: r.uvarint(1 << 62), n: int(r.uvarint(1 << 32))}
		for range r.uvarint(uint64(len(r.rest)) / 8) {
			p.deleted = append(p.deleted, r.fixed())
		}
		m.parts = append(m.parts, p)
		if r.bad {
			return manifest{}, errManifest
		}
	}
	return m, nil
}

// writeManifest makes m the manifest of dir, durably.
func writeManifest(dir string, m *manifest) error {
	path := filepath.Join(dir, manifestName)
	if err := writeSynced(path+files.OpenSuffix, m.encode()); err != nil {
		return fmt.Errorf("write the manifest of the index: %w", err)
	}
	if err := os.Rename(path+files.OpenSuffix, path); err != nil {
		return fmt.Errorf("write the manifest of the index: %w", err)
	}
	return files.SyncDir(dir)
}

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("segment-%010d", number))
}
