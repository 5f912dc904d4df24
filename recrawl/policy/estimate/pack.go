package estimate

import (
	"encoding/binary"
	"math"
)

// PackedStats and PackedGamma are the forms for the disk.
const (
	PackedStats = 8 // bytes
	PackedGamma = 4 // bytes
)

// Numbers are written as 16 bits each: amounts of time and rates by their logarithm, counts in
// steps of 1/1000. 0 is zero. What a page's visits say is far less exact.
const (
	countSteps = 1000
	// logSteps is the number of steps of a factor of e: 1 to 65535 reach from leastTime to 500
	// years.
	logSteps  = 2000
	leastTime = 1e-4 // seconds
)

func packLog(v, least float64) uint16 {
	if !(v > 0) {
		return 0
	}
	return uint16(clamp(math.Round(math.Log(v/least)*logSteps)+1, 1, math.MaxUint16))
}

func unpackLog(c uint16, least float64) float64 {
	if c == 0 {
		return 0
	}
	return least * math.Exp(float64(c-1)/logSteps)
}

func packCount(
	v float64,
) uint16 {
	return uint16(clamp(math.Round(v*countSteps), 0, math.MaxUint16))
}

// Append writes s in PackedStats bytes.
func (s Stats) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, packLog(s.Quiet, leastTime))
	b = binary.BigEndian.AppendUint16(b, packCount(s.Dated))
	b = binary.BigEndian.AppendUint16(b, packCount(s.Found))
	return binary.BigEndian.AppendUint16(b, packLog(s.Span, leastTime))
}

// UnpackStats reads what Append has written. Any bytes are some Stats.
func UnpackStats(b [PackedStats]byte) Stats {
	n := func(i int) uint16 { return binary.BigEndian.Uint16(b[i:]) }
	return Stats{unpackLog(n(0), leastTime), float64(n(2)) / countSteps, float64(n(4)) / countSteps,
		unpackLog(n(6), leastTime)}
}

// least of what is written of a Gamma; its steps are coarser to reach further.
const (
	leastMean  = 1e-12
	leastShape = minShape
)

// Append writes g in PackedGamma bytes, by its mean and its shape.
func (g Gamma) Append(b []byte) []byte {
	g = g.Valid()
	b = binary.BigEndian.AppendUint16(b, packLog(g.Mean(), leastMean))
	return binary.BigEndian.AppendUint16(b, packLog(g.Shape, leastShape))
}

// UnpackGamma reads what Append has written. Any bytes are some Gamma, and one that was read is
// written as it was: the sums rely on it.
func UnpackGamma(b [PackedGamma]byte) Gamma {
	mean := unpackLog(max(binary.BigEndian.Uint16(b[:]), 1), leastMean)
	most := packLog(maxShape, leastShape)
	shape := unpackLog(min(max(binary.BigEndian.Uint16(b[2:]), 1), most), leastShape)
	return Gamma{shape, shape / mean}
}
