package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// A count that an answer does not finish goes on, to its end.
func TestACountGoesOn(t *testing.T) {
	t.Parallel()
	var asked []string
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		more := map[string]string{"": "x/+=", "x/+=": "y"}[r.FormValue("more")]
		reply(w, plainJSON, http.StatusOK, fmt.Sprintf(`{"campaign":"spring","messages":%d,"statuses":{},"more":%q}`, 1000*len(asked), more))
	})
	counts := listed(t, c.CampaignCounts(t.Context(), "spring", client.CountCampaignQuery{Account: "acme"}))
	require.Len(t, counts, 3)
	status := counts[2]
	require.Equal(t, 3000, status.Messages)
	require.Empty(t, status.More)
	const path = "/v1/campaigns/spring"
	require.Equal(t, []string{
		"GET " + path + "?account=acme", "GET " + path + "?account=acme&more=x%2F%2B%3D", "GET " + path + "?account=acme&more=y",
	}, asked)

	asked = nil
	status, err := c.PauseCampaign(t.Context(), "spring", client.PauseCampaignQuery{Account: "acme"})
	require.NoError(t, err)
	require.Equal(t, "x/+=", status.More, "there are more")
	require.Len(t, asked, 1)
}

func TestACountThatGoesRoundEnds(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) {
		reply(w, plainJSON, http.StatusOK, `{"campaign":"spring","messages":1,"statuses":{},"more":"x"}`)
	})
	said := all(c.CampaignCounts(t.Context(), "spring", client.CountCampaignQuery{}))
	err, _ := said[len(said)-1].(error)
	require.ErrorAs(t, err, new(*client.ResponseError))
}
