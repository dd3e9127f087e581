package notifiertest

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// providerTokens verifies provider tokens. It is not safe for concurrent use.
type providerTokens struct {
	public *ecdsa.PublicKey
	now    func() time.Time
	known  []string  // the tokens seen so far
	newest time.Time // when the last of them was first seen
}

// verify returns why a token is refused, or no reason. A token is valid for an hour, and another
// one is accepted 20 minutes after the last.
func (p *providerTokens) verify(authorization string) (status int, reason string) {
	text, ok := strings.CutPrefix(authorization, "bearer ")
	if !ok {
		return http.StatusForbidden, "MissingProviderToken"
	}
	claims := jwt.RegisteredClaims{}
	now := p.now()
	token, err := jwt.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return p.public, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil || token.Header["kid"] != APNsKeyID || claims.Issuer != APNsTeamID || claims.IssuedAt == nil {
		return http.StatusForbidden, "InvalidProviderToken"
	}
	switch age := now.Sub(claims.IssuedAt.Time); {
	case age > time.Hour:
		return http.StatusForbidden, "ExpiredProviderToken"
	case age < -time.Minute:
		return http.StatusForbidden, "InvalidProviderToken"
	case slices.Contains(p.known, text):
		return 0, ""
	case len(p.known) > 0 && now.Sub(p.newest) < 20*time.Minute:
		return http.StatusTooManyRequests, "TooManyProviderTokenUpdates"
	}
	p.known, p.newest = append(p.known, text), now
	return 0, ""
}

// unsound returns why a push is refused, or no reason.
func unsound(p APNsPush) (status int, reason string) {
	pushType, topic, id := p.Header.Get("Apns-Push-Type"), p.Header.Get("Apns-Topic"), p.Header.Get("Apns-Id")
	expiration, err := strconv.ParseInt(p.Header.Get("Apns-Expiration"), 10, 64)
	if err != nil || expiration < 0 {
		return http.StatusBadRequest, "BadExpirationDate"
	}
	priority := p.Header.Get("Apns-Priority")
	longest, ending := 4096, ""
	switch pushType {
	case "alert", "background":
	case "liveactivity":
		ending = ".push-type.liveactivity"
	case "voip":
		longest, ending = 5120, ".voip"
	default:
		return http.StatusBadRequest, "InvalidPushType"
	}
	switch {
	case priority != "10" && priority != "5" && priority != "1" || pushType == "background" && priority == "10":
		return http.StatusBadRequest, "BadPriority"
	case len(p.Header.Get("Apns-Collapse-Id")) > 64:
		return http.StatusBadRequest, "BadCollapseId"
	case uuid.Validate(id) != nil || len(id) != 36:
		return http.StatusBadRequest, "BadMessageId"
	case topic == "":
		return http.StatusBadRequest, "MissingTopic"
	case topic != APNsTopic+ending:
		return http.StatusBadRequest, "TopicDisallowed"
	case len(p.Payload) > longest:
		return http.StatusRequestEntityTooLarge, "PayloadTooLarge"
	case !json.Valid(p.Payload) || !strings.Contains(string(p.Payload), `"aps"`):
		return http.StatusBadRequest, "PayloadEmpty"
	case p.Device == "":
		return http.StatusBadRequest, "MissingDeviceToken"
	case len(p.Device) < 64 || strings.Trim(p.Device, "0123456789abcdefABCDEF") != "" || strings.Trim(p.Device, "0") == "":
		return http.StatusBadRequest, "BadDeviceToken"
	}
	return 0, ""
}
