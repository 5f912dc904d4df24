// Package spool keeps messages on disk until each of several receivers has taken them: a queue with
// one tail and a cursor for each receiver.
//
// Append returns when the messages are on the disk, synced. Next returns the oldest message that a
// receiver has not taken, Took moves the receiver's cursor behind it. After a crash at any moment
// every appended message is there, in order, and a cursor is where the last Took left it: a message
// whose Took was under way may come again.
//
// # Bound
//
// The spool holds at most Limits.Messages and Limits.Bytes, and one Append more. Beyond that the
// oldest segment is removed, and the receivers that had not taken its messages lose them: each loss
// is counted (Figures.Lost). What every receiver has taken is removed segment by segment.
//
// # Files
//
//	NNNNNNNNNNNNNNNNNNNN.spool  a segment: messages from this number on, in order, one a line
//	cursors.json                number, takings and losses of each receiver; package files replaces it
//
// A line is the CRC-32C of the rest in 8 hexadecimal digits, a blank, the decimal number of the
// message, a blank, the message itself, and a line end. Numbers increase by one and are never used
// twice. A start begins a new segment and never writes to an old one, so a line that a crash has
// torn stays the last one of its segment and is passed over. A line with an end and a wrong sum is
// damage of the disk; it is passed over and counted (Damaged).
//
// The methods may be called from any goroutine. Those that write wait for each other; Figures waits
// for no disk.
package spool
