// Package deflate makes gzip members (RFC 1952) of contents of at most MaxInput bytes, each in one call.
//
// A crawler compresses each page on its own, and most have some ten to sixty kilobytes. An encoder for streams pays there for
// what such a page does not need: a table of 128 KB that leaves no cache to its neighbours, tokens for each literal, and codes
// that are the best possible ones. Here all contents are at hand, so:
//
//   - positions have 16 bits, and the table of earlier ones is 16 KB;
//   - matches are kept with the number of literals before each; the literals are read from the contents again;
//   - Huffman codes are made by Moffat and Katajainen's method in place, and shortened where they are too long.
//
// A member has one block: with codes of its own, or stored where that is shorter. Matches are found greedily, as by other encoders
// at their fastest level; the members are as long as theirs within a few per cent.
//
// The package does not read members, keeps no goroutine, and its memory is bounded: an Encoder takes some 250 KB.
package deflate
