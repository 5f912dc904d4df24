package peer

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that boundedCodec writes with
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// maxFields bounds the fields of a message: those of a report on 65,536 partitions, and
// some. An empty link takes two bytes on the wire and a hundred in memory, so 8 MiB of
// them would take half a gigabyte.
const maxFields = 70_000

// boundedCodec is gRPC's own codec, but a message with too many fields is refused before
// it is built.
type boundedCodec struct{ encoding.CodecV2 }

func newBoundedCodec() boundedCodec { return boundedCodec{encoding.GetCodecV2("proto")} }

// Unmarshal reads a message of another node.
func (c boundedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	raw, most := buf.ReadOnlyData(), maxFields
	if _, ok := v.(*LinkBatch); ok {
		most = MaxBatchLinks + 16 // its id, its rules and what a later release adds
	}
	if err := checkFields(raw, most); err != nil {
		return err
	}
	return proto.Unmarshal(raw, message)
}

// checkFields counts the fields of a message.
func checkFields(raw []byte, most int) error {
	for fields := 0; len(raw) > 0; fields++ {
		if fields == most {
			return fmt.Errorf("the message has more than %d fields", most)
		}
		_, _, n := protowire.ConsumeField(raw)
		if n < 0 {
			return fmt.Errorf("the message is broken: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
	}
	return nil
}
