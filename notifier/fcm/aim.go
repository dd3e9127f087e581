package fcm

import (
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Headers of a platform that would change the receiver or the credentials.
func reservedHeaders() map[string][]string {
	return map[string][]string{
		"apns":    {"apns-topic", "authorization"},
		"webpush": {"authorization", "crypto-key"},
	}
}

// checkHeaders checks that a message's additions do not change the app or the credentials of a
// platform. APNs and push services would refuse them, which FCM reports as a fault of the project.
func checkHeaders(patch object) error {
	for platform, reserved := range reservedHeaders() {
		part, _ := patch[platform].(object)
		headers, _ := part["headers"].(object)
		for name := range headers {
			for _, known := range reserved {
				if strings.EqualFold(strings.TrimSpace(name), known) {
					return &notifier.InvalidError{
						Field: fieldOverride + "." + platform + ".headers." + known, Value: "(not shown)", Want: "nothing: FCM sets it for the device's app",
					}
				}
			}
		}
	}
	return nil
}

// aimsElsewhere reports whether a message addresses something other than the device's token. Then
// the answer says nothing about the device.
func aimsElsewhere(message object) bool {
	android, _ := message["android"].(object)
	apns, _ := message["apns"].(object)
	headers, _ := apns["headers"].(object)
	for name, value := range headers {
		if strings.EqualFold(name, "apns-push-type") && value != "alert" && value != "background" {
			return true
		}
	}
	for _, member := range []struct {
		of   object
		name string
	}{
		{android, "restricted_package_name"},
		{android, "restrictedPackageName"},
		{apns, "live_activity_token"},
		{apns, "liveActivityToken"},
	} {
		if _, ok := member.of[member.name]; ok {
			return true
		}
	}
	return false
}

// ofMessage returns the result of a message that aims elsewhere: the device stays, and is not
// paused.
func ofMessage(r notifier.Result) notifier.Result {
	switch {
	case r.Status == notifier.Gone:
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonMismatched, Err: r.Err}
	case r.Pause == notifier.PauseDevice && r.Reason == notifier.ReasonUnavailable:
		return notifier.Result{Status: notifier.Retry, Reason: r.Reason, RetryAfter: r.RetryAfter, Err: r.Err}
	default:
		return r
	}
}
