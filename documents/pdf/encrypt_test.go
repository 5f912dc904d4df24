package pdf

import (
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
)

// padding is the string that fills passwords (ISO 32000-1, 7.6.3.3).
const padding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

// locked returns a file that is encrypted with a user password: the standard security handler of
// revision 2, with keys of 40 bits.
func locked(password string) *file {
	const (
		id         = "0123456789abcdef"
		permission = -4
	)
	padded := (password + padding)[:32]
	cipher := func(key []byte, in string) string {
		c, err := rc4.NewCipher(key)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		out := make([]byte, len(in))
		c.XORKeyStream(out, []byte(in))
		return string(out)
	}
	owner := md5.Sum([]byte(padded))
	o := cipher(owner[:5], padded)
	flags := int32(permission)
	seed := append([]byte(padded+o), binary.LittleEndian.AppendUint32(nil, uint32(flags))...)
	key := md5.Sum(append(seed, id...))
	of := func(object int) []byte { // 7.6.2, algorithm 1
		k := append([]byte(nil), key[:5]...)
		k = append(k, byte(object), byte(object>>8), byte(object>>16), 0, 0)
		sum := md5.Sum(k)
		return sum[:10]
	}
	f := text("")
	f.objects[11] = stream("", cipher(of(11), show("Under the seal")))
	f.trailer = fmt.Sprintf("/ID [<%x> <%x>] /Encrypt << /Filter /Standard /V 1 /R 2 /P %d "+
		"/O <%x> /U <%x> >>", id, id, permission, o, cipher(key[:5], padding))
	return f
}

// unknownLock returns a file that is encrypted by a handler that nobody knows.
func unknownLock() *file {
	f := text("Secret")
	f.trailer = "/ID [<00> <00>] /Encrypt << /Filter /Nobodys /V 9 /R 9 >>"
	return f
}
