package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	saltBytes  = 16
	tagBytes   = 16
	recordSize = 4096
	// headerBytes is the header of RFC 8188: the salt, the record size, the length of the key's
	// name, and the sender's public key as the name.
	headerBytes = saltBytes + 4 + 1 + publicBytes

	// MaxBody is the maximum body that every push service accepts, in bytes.
	MaxBody = 4096
	// MaxPayload is the maximum JSON in a body, in bytes. One byte ends the record.
	MaxPayload = MaxBody - headerBytes - 1 - tagBytes
)

// lengths returns the lengths that bodies are padded to, so that a push service learns little from
// a length. Firefox for Android receives at most 2,744 bytes, because its push service uses base64.
func lengths() [6]int { return [...]int{256, 512, 1024, 2048, 2744, MaxBody} }

// encrypt returns the encrypted body of a push to s: aes128gcm, RFC 8291.
func encrypt(s Subscription, plain []byte) ([]byte, error) {
	sender, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of a push: %w", err)
	}
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // it never fails
	bare := headerBytes + len(plain) + 1 + tagBytes
	for _, length := range lengths() {
		if bare <= length {
			return seal(s, sender, salt, plain, length-bare)
		}
	}
	return nil, fmt.Errorf("the payload has %d bytes, more than %d", len(plain), MaxPayload)
}

// seal encrypts plain with padding in one record.
func seal(s Subscription, sender *ecdh.PrivateKey, salt, plain []byte, padding int) ([]byte, error) {
	shared, err := sender.ECDH(s.public)
	if err != nil {
		return nil, fmt.Errorf("agree on the key of a push: %w", err)
	}
	ours := sender.PublicKey().Bytes()
	d := derivation{}
	ikm := d.expand(d.extract(shared, s.auth), "WebPush: info\x00"+string(s.public.Bytes())+string(ours), sha256.Size)
	prk := d.extract(ikm, salt)
	key := d.expand(prk, "Content-Encoding: aes128gcm\x00", 16)
	nonce := d.expand(prk, "Content-Encoding: nonce\x00", 12)
	if d.err != nil {
		return nil, fmt.Errorf("derive the key of a push: %w", d.err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("encrypt a push: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("encrypt a push: %w", err)
	}
	body := make([]byte, 0, headerBytes+len(plain)+1+padding+tagBytes)
	body = append(body, salt...)
	body = binary.BigEndian.AppendUint32(body, recordSize)
	body = append(body, publicBytes)
	body = append(body, ours...)
	record := make([]byte, len(plain)+1+padding)
	copy(record, plain)
	record[len(plain)] = 2 // ends the last record
	return gcm.Seal(body, nonce, record, nil), nil
}

// derivation derives keys by HKDF, and keeps the first error.
type derivation struct{ err error }

func (d *derivation) extract(secret, salt []byte) []byte {
	key, err := hkdf.Extract(sha256.New, secret, salt)
	d.keep(err)
	return key
}

func (d *derivation) expand(key []byte, info string, length int) []byte {
	out, err := hkdf.Expand(sha256.New, key, info, length)
	d.keep(err)
	return out
}

func (d *derivation) keep(err error) {
	if d.err == nil {
		d.err = err
	}
}
