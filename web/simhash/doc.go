// Package simhash finds pages whose texts are nearly equal.
//
// Fingerprint makes 64 bits of a text, after Charikar (STOC 2002): each shingle
// of three consecutive words votes with the bits of its hash, and each bit is set by
// majority. Two texts that share most shingles differ in few bits. A page
// counts as near-duplicate of another at a distance of MaxDistance bits or less,
// the figure of Manku, Jain and Das Sarma (WWW 2007) for 64-bit fingerprints of
// web pages.
//
// A word is a run of letters, digits and bytes beyond ASCII, in lower case (where case is
// one bit: ASCII, Latin-1, most of Cyrillic and Greek). In
// scripts that are written without spaces, each character is a word. Words are found 64 bytes
// at a time (words.go). The votes are counted in bit slices (votes.go): plane i holds bit i
// of all 64 counters, so that one shingle costs a few words of logic and not 64 additions.
//
// Index finds the fingerprints within MaxDistance. It indexes them under each of
// their four 16-bit blocks: two fingerprints that differ in three bits have at least one
// block in common. It keeps the newest entries, up to its capacity. The entries of frequent blocks
// are stored contiguously, since following a chain through memory is slow.
//
// Fingerprints makes the fingerprints of a text with and without its numbers in little more time
// than one of them takes. MaskNumbers makes texts equal that differ only in dates, clock times and
// counters, for comparing a page with its earlier version.
//
// Texts of fewer than MinWords words have no fingerprint: with so few votes it would be
// random. The package does no I/O. Fingerprint may be called from any number of
// goroutines; an Index belongs to one.
package simhash
