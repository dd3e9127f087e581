// Written by "make clients" from the OpenAPI document. Do not edit it.

export type Open<Words extends string> = Words | (string & {});
export interface components {
    schemas: {
        Account: {
            /** @description Where quota alerts go: an e-mail address or an https: URL. */
            contact?: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description Whether its keys are refused. What it has submitted is still sent. */
            disabled?: boolean;
            /** @description Where its events are posted; absent if they are not posted. */
            events_url?: string;
            /** @description The time zone before the last change, which counts until time_zone_from. */
            former_time_zone?: string;
            /** @description Its API keys without the secrets, the oldest first. */
            keys: components["schemas"]["Key"][];
            /** @description 1 to 64 of a-z 0-9 _ - */
            name: string;
            /** @description The local time of its daily report; absent if it gets none. */
            report_at?: string;
            /** @description Its tier; absent if nothing is limited. */
            tier?: string;
            /** @description The IANA time zone of the hours and days of its quota. */
            time_zone: string;
            /**
             * Format: date-time
             * @description From when the time zone counts: the end of the day that was under way when it was changed.
             */
            time_zone_from?: string;
        };
        AccountDetails: {
            /** @description Where its events are posted, and how far; absent if they are not posted. */
            callback?: components["schemas"]["Callback"];
            /** @description Where quota alerts go: an e-mail address or an https: URL. */
            contact?: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description Whether its keys are refused. What it has submitted is still sent. */
            disabled?: boolean;
            /** @description Where its events are posted; absent if they are not posted. */
            events_url?: string;
            /** @description The time zone before the last change, which counts until time_zone_from. */
            former_time_zone?: string;
            /** @description Its API keys without the secrets, the oldest first. */
            keys: components["schemas"]["Key"][];
            /** @description 1 to 64 of a-z 0-9 _ - */
            name: string;
            /** @description The local time of its daily report; absent if it gets none. */
            report_at?: string;
            /** @description Its tier; absent if nothing is limited. */
            tier?: string;
            /** @description The IANA time zone of the hours and days of its quota. */
            time_zone: string;
            /**
             * Format: date-time
             * @description From when the time zone counts: the end of the day that was under way when it was changed.
             */
            time_zone_from?: string;
            /** @description How much of its quota it has used. */
            usage: components["schemas"]["AccountUsage"];
        };
        AccountDraft: {
            /** @description Where quota alerts go: an e-mail address or an https: URL. */
            contact?: string | null;
            /** @description 1 to 64 of a-z 0-9 _ - */
            name: string;
            /** @description Local time of a daily report, such as 08:00; by default there is none. */
            report_at?: string | null;
            /** @description The name of an existing tier; by default nothing is limited. */
            tier?: string | null;
            /** @description An IANA time zone, by default UTC. */
            time_zone?: string | null;
        };
        AccountPatch: {
            /** @description An e-mail address or an https: URL. */
            contact?: string | null;
            /** @description Whether its keys are refused. */
            disabled?: boolean | null;
            /** @description Local time of a daily report, such as 08:00. */
            report_at?: string | null;
            /** @description The name of an existing tier. */
            tier?: string | null;
            /** @description An IANA time zone. It counts from the end of the present day in the former one. */
            time_zone?: string | null;
        };
        AccountUsage: {
            /** @description The account's name. */
            account: string;
            /** @description The present day, in the account's time zone. */
            day: components["schemas"]["QuotaUsage"];
            /** @description The present day and the six after it: messages count in the day of their send times. */
            days: components["schemas"]["QuotaUsage"][];
            /** @description The devices that it has registered. */
            devices: components["schemas"]["DevicesUsage"];
            /** @description The present hour. */
            hour: components["schemas"]["QuotaUsage"];
            /**
             * Format: date-time
             * @description When it was counted, by the store's clock.
             */
            now: string;
            /** @description The requests of the present day; absent if the tier has no limit for them. */
            requests?: components["schemas"]["RequestsUsage"];
            /** @description Its tier; absent if nothing is limited. */
            tier?: string;
        };
        Accounts: {
            /** @description By name. */
            accounts: components["schemas"]["Account"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        Activity: {
            /**
             * Format: int64
             * @description Submits that were accepted.
             */
            accepted: number;
            /**
             * Format: int64
             * @description Messages that were cancelled.
             */
            cancelled: number;
            /**
             * Format: int64
             * @description Messages that were delivered, late ones included.
             */
            delivered: number;
            /** @description Messages that ended unsent, by reason. */
            dropped: {
                [key: string]: number;
            };
            /** @description Messages that were given up, by reason. */
            failed: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Messages that were delivered after the tolerance.
             */
            late: number;
            /**
             * Format: int64
             * @description The p50 of the lateness of delivered messages, in milliseconds; absent if there are none.
             */
            late_half_ms?: number;
            /**
             * Format: int64
             * @description The p99 of the lateness.
             */
            late_most_ms?: number;
            /**
             * Format: int64
             * @description Late messages that got a later time.
             */
            postponed: number;
            /** @description Submits that were refused, by rule, or by code if no rule refused them. */
            refused: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Dead letters that were retried.
             */
            retried: number;
        };
        ActivityMinute: {
            /**
             * Format: int64
             * @description Submits that were accepted.
             */
            accepted: number;
            /**
             * Format: int64
             * @description Messages that were cancelled.
             */
            cancelled: number;
            /**
             * Format: int64
             * @description Messages that were delivered, late ones included.
             */
            delivered: number;
            /** @description Messages that ended unsent, by reason. */
            dropped: {
                [key: string]: number;
            };
            /** @description Messages that were given up, by reason. */
            failed: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Messages that were delivered after the tolerance.
             */
            late: number;
            /**
             * Format: int64
             * @description The p50 of the lateness of delivered messages, in milliseconds; absent if there are none.
             */
            late_half_ms?: number;
            /**
             * Format: int64
             * @description The p99 of the lateness.
             */
            late_most_ms?: number;
            /**
             * Format: int64
             * @description Late messages that got a later time.
             */
            postponed: number;
            /** @description Submits that were refused, by rule, or by code if no rule refused them. */
            refused: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Dead letters that were retried.
             */
            retried: number;
            /**
             * Format: date-time
             * @description When the minute began.
             */
            start: string;
        };
        AlertDone: {
            /** @description The alert's id. */
            alert: string;
            /** @description What was done. */
            outcome: Open<"retried" | "purged">;
        };
        AuditEntries: {
            /** @description The newest first. */
            entries: components["schemas"]["AuditEntry"][];
            /** @description The cursor of the next page; absent if there are no more. A page with filters may be short or empty, and the next may be, too. */
            next_cursor?: string;
        };
        AuditEntry: {
            /** @description The account that made the change; absent without an API key. */
            account?: string;
            /** @description The operation in words, such as apply policy. */
            action: string;
            /** @description The address that the request came from; absent for a command on the store. */
            address?: string;
            /** @description Why it was refused or failed, as a sentence. */
            answer?: string;
            /**
             * Format: date-time
             * @description When the change began, by the store's clock.
             */
            at: string;
            /** @description The name of who sent no key, from a command or the header Sendlimit-By; absent with a key. */
            by?: string;
            /** @description Why it was refused or failed, as a code. */
            code?: components["schemas"]["Code"];
            /** @description The change in words, without secrets and contents. */
            detail?: string;
            /**
             * Format: date-time
             * @description When it ended; absent while the change is running, and if its end is unknown.
             */
            ended_at?: string;
            /** @description The user's data was removed from the entry, because the user was erased. */
            erased?: boolean;
            /** @description Its id. Ids ascend with time. */
            id: string;
            /** @description The id of the account's key; absent without one. */
            key?: string;
            /** @description The message that changed; absent if user is absent. */
            message?: string;
            /**
             * Format: int64
             * @description The number of further refusals in the same minute, which have no entries.
             */
            more?: number;
            /** @description The name of another object that changed, such as a policy. */
            object?: string;
            /** @description An operator made the change, not your account. */
            operator?: boolean;
            /** @description done, refused or failed; a failed change may have changed something. Absent while the change is running. */
            outcome?: Open<"accepted" | "replaced" | "cancelled" | "moved" | "changed" | "recorded" | "retried" | "purged" | "refused" | "invalid" | "error">;
            /** @description The user whose data changed; absent if there is none, and after the user was erased. */
            user?: string;
        };
        Callback: {
            /** @description The account's name. */
            account: string;
            /**
             * Format: int64
             * @description Requests that failed since the last success.
             */
            attempts?: number;
            /**
             * Format: int64
             * @description Dead events, which the callback did not accept in time.
             */
            dead: number;
            /**
             * Format: date-time
             * @description Since when requests fail; absent if the last one succeeded.
             */
            failing_since?: string;
            /** @description Why it failed, such as unavailable, timeout, rejected, gone, or misaddressed for an internal address. */
            last_failure?: string;
            /**
             * Format: date-time
             * @description When a request last failed; absent if never.
             */
            last_failure_at?: string;
            /**
             * Format: date-time
             * @description When a request last succeeded; absent if never.
             */
            last_success_at?: string;
            /**
             * Format: int64
             * @description Events that were removed before they were posted, because too many waited or they were too old.
             */
            lost?: number;
            /**
             * Format: date-time
             * @description When the next request is made; absent unless requests fail.
             */
            next_try_at?: string;
            /** @description The signing secret. Only the answer to the request that created it shows it. */
            secret?: string;
            /** @description Where its events are posted. */
            url: string;
            /**
             * Format: int64
             * @description Events that were not posted yet.
             */
            waiting: number;
        };
        CallbackDraft: {
            /** @description The signing secret: whsec_ and 24 to 64 bytes in base64. By default the current secret stays, and the first one is generated. */
            secret?: string | null;
            /** @description An https URL with a host, without user, password and fragment. */
            url: string;
        };
        CampaignMoveDraft: {
            /** @description By how long: 1h, 90m or -30m. A negative length moves to earlier times. At most 8784h, of whole milliseconds. */
            by: string;
            /** @description A dry run: only report what the outcome would be. */
            dry_run?: boolean | null;
        };
        CampaignProgress: {
            /**
             * Format: int64
             * @description Messages of the campaign; until the first one is processed, the number counted so far.
             */
            messages: number;
            /**
             * Format: int64
             * @description Messages that were processed, including those of an earlier request.
             */
            messages_done: number;
            /**
             * @description What was done. With refused, invalid and error nothing was done.
             * @enum {string}
             */
            outcome: "progress";
        };
        CampaignStatus: {
            /** @description The campaign's account; absent without accounts. */
            account?: string;
            /** @description The campaign's name. */
            campaign: string;
            /**
             * Format: date-time
             * @description When it was cancelled: it accepts no messages. Absent if it was not, and after a reopen.
             */
            ended_at?: string;
            /**
             * Format: int64
             * @description The number of messages; with more set, the number counted so far.
             */
            messages: number;
            /** @description Set if the count is not complete. Send it as the parameter more to continue: the next answer includes these messages. */
            more?: string;
            /**
             * Format: date-time
             * @description Since when it is paused; absent if it is not.
             */
            paused_since?: string;
            /** @description The number of messages by status. A status without messages is absent. */
            statuses: {
                [key: string]: number;
            };
        };
        CampaignSummary: {
            /** @description The campaign's account; absent without accounts. */
            account?: string;
            /** @description By how long the messages were moved. */
            by?: string;
            /** @description The campaign's name. */
            campaign: string;
            /** @description False if the run stopped early: send the same request again to continue. */
            complete: boolean;
            /** @description The run continued an earlier request, and includes its figures. */
            continued?: boolean;
            /**
             * Format: int64
             * @description Messages that were cancelled, moved or resumed; in a dry run, those that could be moved.
             */
            done: number;
            /**
             * Format: int64
             * @description Messages that somebody else sent, moved or cancelled meanwhile.
             */
            gone: number;
            /**
             * Format: int64
             * @description Messages that were processed.
             */
            messages: number;
            /**
             * @description What was done. With refused, invalid and error nothing was done.
             * @enum {string}
             */
            outcome: "campaign_cancelled" | "campaign_moved" | "campaign_dry_run" | "campaign_resumed";
            /**
             * Format: int64
             * @description Messages that were refused, and keep their places.
             */
            refused: number;
            /** @description Refused messages by the rule that they would break, or by the code of the refusal. */
            refused_by?: {
                [key: string]: number;
            };
        };
        /** @description The query of cancelCampaign. */
        CancelCampaignQuery: {
            /** @description The account of the campaign; by default the key's own. Another account requires the scope admin. */
            account?: string;
        };
        Category: {
            /** @description The accounts that may submit messages of the category; empty for all. Messages of other accounts are refused with category_reserved. */
            accounts?: string[];
            /** @description Dates on which none of its messages are sent, in place of the policy's blackouts. */
            blackouts?: string[];
            /** @description Whether its messages count in the policy's rules. Only an exempt category may have false. */
            counts?: boolean;
            /** @description Whether rules and quiet hours do not apply to its messages. */
            exempt?: boolean;
            /** @description The only hours at which its messages are sent, in place of the policy's only. */
            only?: string[];
            /** @description When none of its messages are sent, in place of the policy's quiet_hours. */
            quiet_hours?: string[];
            /** @description Rules that count only messages of the category, at most one for each window, in addition to those of the policy. */
            rules?: string[];
            /** @description In place of the policy's shift_spread; 0s for none. An exempt category has none. */
            shift_spread?: string;
            /** @description How many messages of the category all users of the policy together get in a minute or an hour of UTC, by their send times: 500/minute. Empty for no limit. An exempt category has none. */
            throttle?: string;
        };
        CategoryDocument: {
            /** @description The accounts that may submit messages of the category; empty for all. Messages of other accounts are refused with category_reserved. */
            accounts?: string[] | null;
            /** @description Dates on which none of its messages are sent, in place of the policy's blackouts. */
            blackouts?: string[] | null;
            /** @description Whether its messages count in the policy's rules. Only an exempt category may have false. */
            counts?: boolean | null;
            /** @description Whether rules and quiet hours do not apply to its messages. */
            exempt?: boolean | null;
            /** @description The only hours at which its messages are sent, in place of the policy's only. */
            only?: string[] | null;
            /** @description When none of its messages are sent, in place of the policy's quiet_hours. */
            quiet_hours?: string[] | null;
            /** @description Rules that count only messages of the category, at most one for each window, in addition to those of the policy. */
            rules?: string[] | null;
            /** @description In place of the policy's shift_spread; 0s for none. An exempt category has none. */
            shift_spread?: string | null;
            /** @description How many messages of the category all users of the policy together get in a minute or an hour of UTC, by their send times: 500/minute. Empty for no limit. An exempt category has none. */
            throttle?: string | null;
        };
        CategoryQuiet: {
            /** @description The category's name. */
            category: string;
            /** @description When none of its messages are sent. */
            quiet_hours: string[];
        };
        Change: {
            /** @description The blackout dates then; absent for those of the policy. */
            blackouts?: string[];
            /** @description All categories then; absent for those of the policy. */
            categories?: {
                [key: string]: components["schemas"]["Category"];
            };
            /** @description The first send time: RFC 3339, or a date, which begins at midnight in the policy's time zone; absent for no begin. */
            from?: string;
            /** @description The only hours then; absent for those of the policy. */
            only?: string[];
            /** @description The quiet hours then; absent for those of the policy. */
            quiet_hours?: string[];
            /** @description The rules then; absent for those of the policy. */
            rules?: string[];
            /** @description The end of the send times, which is not included; absent for no end. */
            until?: string;
        };
        ChangeDocument: {
            /** @description The blackout dates then; absent for those of the policy. */
            blackouts?: string[] | null;
            /** @description All categories then; absent for those of the policy. */
            categories?: {
                [key: string]: components["schemas"]["CategoryDocument"];
            } | null;
            /** @description The first send time: RFC 3339, or a date, which begins at midnight in the policy's time zone; absent for no begin. */
            from?: string | null;
            /** @description The only hours then; absent for those of the policy. */
            only?: string[] | null;
            /** @description The quiet hours then; absent for those of the policy. */
            quiet_hours?: string[] | null;
            /** @description The rules then; absent for those of the policy. */
            rules?: string[] | null;
            /** @description The end of the send times, which is not included; absent for no end. */
            until?: string | null;
        };
        Channel: {
            /** @description Its name, such as fcm. */
            channel: Open<"fcm" | "apns" | "webpush" | "webhook" | "log" | "service">;
            /**
             * Format: date-time
             * @description When it last delivered, to a few seconds; absent if never.
             */
            delivered_at?: string;
            /** @description The provider's answer. */
            detail?: string;
            /** @description How fast its provider accepts calls, as its refusals show; absent if it has refused none for an hour. */
            learned?: components["schemas"]["LearnedPace"];
            /**
             * Format: date-time
             * @description The end of the pause that its provider has asked for.
             */
            paused_until?: string;
            /**
             * Format: date-time
             * @description When workers probe it again; absent if they do not.
             */
            probe_at?: string;
            /** @description Why it is stopped: unauthorized, its provider refuses the credentials; misaddressed, its provider does not know the project or the path; brake, its provider calls all devices gone. */
            reason?: string;
            /**
             * Format: date-time
             * @description Since when it is stopped.
             */
            since?: string;
            /** @description running; paused, if its provider has asked for a pause; or stopped. */
            state: string;
            /** @description Set if the provider recently called many devices gone. */
            wave?: components["schemas"]["ChannelWave"];
        };
        ChannelResume: {
            /** @description Its name. */
            channel: Open<"fcm" | "apns" | "webpush" | "webhook" | "log" | "service">;
            /** @description resumed, or running if it was not stopped */
            outcome: Open<"accepted" | "replaced" | "cancelled" | "moved" | "changed" | "recorded" | "retried" | "purged" | "refused" | "invalid" | "error">;
        };
        ChannelWave: {
            /** @description The number of these messages by account; the empty name has those without an account. */
            accounts: {
                [key: string]: number;
            };
            /** @description The number of these messages by campaign; the empty name has those without a campaign. */
            campaigns: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description How many of the last answers called a device gone. Those devices are kept.
             */
            gone: number;
            /**
             * Format: int64
             * @description The number of these last answers.
             */
            of: number;
        };
        Channels: {
            /** @description By name. */
            channels: components["schemas"]["Channel"][];
        };
        /** @description The query of checkBatch. */
        CheckBatchQuery: {
            /** @description Rules separated by commas, at most one of each window. Each replaces the rule of the policy with the same window, or is added to the others. */
            what_if?: string;
            /** @description true judges by the policy in the first line of the body, in the form of applyPolicy. It replaces the stored policy of its name (default if it has none), which must exist. */
            what_if_policy?: boolean;
            /** @description As in submitBatch. */
            without_free_times?: boolean;
        };
        /** @description The query of checkMessage. */
        CheckMessageQuery: {
            /** @description true for the dry run of putMessage, which may replace the pending message with the id. */
            replace?: boolean;
        };
        /** @description The query of clearPace. */
        ClearPaceQuery: {
            /**
             * @description The channel of the pace. By default the pace is for all messages together.
             * @enum {string}
             */
            channel?: "log" | "webhook" | "fcm" | "apns" | "webpush" | "service";
        };
        /** @description What is wrong. More may be added. */
        Code: Open<"account_places" | "already_exists" | "blocked" | "campaign_ended" | "campaign_running" | "category_reserved" | "cross_origin" | "do_not_disturb" | "expired" | "forbidden" | "id_reused" | "in_past" | "index_off" | "internal" | "invalid_field" | "method_not_allowed" | "not_found" | "not_implemented" | "opted_out" | "policy_in_use" | "quiet_hours" | "quota_exceeded" | "rate_limited" | "refit_running" | "send_limit" | "store_full" | "store_unfit" | "throttled" | "too_far_ahead" | "too_late" | "too_many_devices" | "too_many_places" | "unauthorized" | "unavailable" | "unknown_category" | "version_mismatch">;
        Conflict: {
            /** @description The message's id; absent if it belongs to another account. */
            id?: string;
            /**
             * Format: date-time
             * @description The send time.
             */
            send_at: string;
        };
        /** @description The query of countCampaign. */
        CountCampaignQuery: {
            /** @description The account of the campaign; by default the key's own. Another account requires the scope admin. */
            account?: string;
            /** @description Continues a count: the unchanged value of more in the answer before. */
            more?: string;
        };
        DeadAlert: {
            /** @description Its id. */
            alert: string;
            /**
             * Format: int64
             * @description The number of delivery attempts.
             */
            attempts: number;
            /**
             * Format: date-time
             * @description When it was given up.
             */
            ended_at: string;
            /** @description account_quota, user_quota, user_quota_digest, daily_report, event_limit, callback_changed or keys_changed. */
            kind: Open<"account_quota" | "user_quota" | "user_quota_digest" | "daily_report" | "event_limit" | "callback_changed" | "keys_changed">;
            /**
             * Format: int64
             * @description Messages that the day's quota or rule allows, or calls that the event's limit allows; absent for digests and reports.
             */
            limit?: number;
            /** @description Why the last delivery failed. */
            reason: string;
            /**
             * Format: date-time
             * @description The start of its day; for a digest, of its hour; for an event, of the period of the limit.
             */
            since: string;
            /** @description failed. */
            status: Open<"failed">;
            /** @description The account or the user; for a digest, the policy; for an event, the event and the key, such as submit/acme. */
            subject: string;
            /**
             * Format: int64
             * @description The percentage of limit that was reached; absent for digests and reports.
             */
            threshold?: number;
            /**
             * Format: int64
             * @description Messages of that day, or calls of the event; absent for digests and reports.
             */
            used?: number;
        };
        DeadAlerts: {
            /** @description By the time they ended, the oldest first. */
            dead_alerts: components["schemas"]["DeadAlert"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        DeadEvent: {
            /**
             * Format: date-time
             * @description When it was given up.
             */
            dead_at: string;
            /** @description The event. */
            event: components["schemas"]["Event"];
            /** @description The id of the dead event. */
            id: string;
            /** @description Why the last request failed. */
            reason: string;
        };
        DeadEvents: {
            /** @description The oldest first. */
            dead_events: components["schemas"]["DeadEvent"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        DeadEventsPurge: {
            /**
             * Format: int64
             * @description The number of removed events.
             */
            purged: number;
        };
        DeadEventsRetry: {
            /**
             * Format: int64
             * @description The number of remaining dead events.
             */
            left: number;
            /**
             * Format: int64
             * @description The number of events that are posted again.
             */
            retried: number;
        };
        DeadLetters: {
            /** @description By the end time, the oldest first. */
            dead_letters: components["schemas"]["Status"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        DeadPurge: {
            /** @description There may be more: send the request again. */
            more: boolean;
            /**
             * Format: int64
             * @description The number that this request removed.
             */
            purged: number;
        };
        DeadRetry: {
            /** @description The cursor of the next request; absent if there are no more. The next request may retry none. */
            next_cursor?: string;
            /** @description The outcome of each, the oldest first: retried, or refused and why. */
            outcomes: components["schemas"]["Outcome"][];
        };
        Delivery: {
            /**
             * Format: int64
             * @description The number of this attempt, from 1.
             */
            attempt: number;
            /**
             * Format: int64
             * @description The number at the app's icon; absent to keep it.
             */
            badge?: number;
            /** @description The message's text. */
            body?: string;
            /** @description The message's campaign. */
            campaign?: string;
            /** @description The message's category. */
            category?: string;
            /** @description The URL that a click opens: a web page, or a place in the app. */
            click_url?: string;
            /** @description The message replaces an earlier one with the same key on the device. */
            collapse_key?: string;
            /** @description Data for the app. */
            data?: {
                [key: string]: string;
            };
            /** @description The message's id, unique for its user. */
            id: string;
            /** @description The https URL of an image to show with the message. */
            image?: string;
            /** @description Texts of the caller by name. */
            metadata?: {
                [key: string]: string;
            };
            /** @description high if the message may wake the device, normal if it may wait; absent if the caller did not say. */
            priority?: Open<"high" | "normal">;
            /** @description The requested send time, if it differs. */
            requested_at?: string;
            /** @description The promised send time, RFC 3339 in UTC. */
            send_at: string;
            /** @description The name of a sound of the app's. */
            sound?: string;
            /** @description The message's title. */
            title?: string;
            /** @description The receiver of the message. */
            user: string;
        };
        Device: {
            /** @description The account that registered it, and whose messages it receives; absent if it receives those of all accounts. */
            account?: string;
            /** @description The token, or the subscription as JSON. Without the scope content only the end of a token or the host of a subscription is shown. */
            address?: string;
            /** @description The name of the app; absent if the caller named none. */
            app?: string;
            /** @description fcm, apns or webpush. More may be added. */
            channel: Open<"fcm" | "apns" | "webpush" | "webhook" | "log" | "service">;
            /** @description Unique among the devices of the user. */
            id: string;
            /**
             * Format: date-time
             * @description The hour in which its provider last accepted a push; absent if never.
             */
            last_success?: string;
            /** @description The language of the device; absent if unknown. */
            locale?: string;
            /**
             * Format: date-time
             * @description When it was last registered, to the second.
             */
            registered_at: string;
            /** @description Its provider called it gone when too many devices were gone at once. */
            suspect?: boolean;
        };
        DeviceChange: {
            /** @description The device after the change. */
            device: components["schemas"]["Device"];
            /**
             * Format: int64
             * @description How many other users had the address until now. It is no longer theirs. Absent for none.
             */
            moved_from?: number;
            /** @description added; replaced if a device had the same id or address; unchanged if it was registered already. */
            outcome: Open<"added" | "replaced" | "unchanged">;
            /** @description The user's name. */
            user: string;
        };
        DeviceDraft: {
            /** @description The name of the app, 1 to 64 of A-Z a-z 0-9 . _ - Messages can be sent to one app. */
            app?: string | null;
            /**
             * @description fcm, apns or webpush.
             * @enum {string}
             */
            channel: "fcm" | "apns" | "webpush";
            /** @description 1 to 64 of A-Z a-z 0-9 . _ - By default it is derived from account, channel and address, so that registering again is safe. */
            id?: string | null;
            /** @description The language of the device: a tag such as de or pt-BR. */
            locale?: string | null;
            /** @description For webpush: the browser's PushSubscription, as its toJSON returns it, with endpoint and keys. It is a secret. */
            subscription?: {
                [key: string]: unknown;
            } | null;
            /** @description For fcm and apns: the token that the app received. It is a secret. */
            token?: string | null;
        };
        DeviceRemoval: {
            /** @description The id of the device. */
            device: string;
            /** @description removed */
            outcome: Open<"removed">;
            /** @description The user's name. */
            user: string;
        };
        DeviceStatus: {
            /** @description The id of the device; @ and its name for a channel without devices. */
            device: string;
            /** @description The state of the message there: delivered; gone, because the provider no longer knows the device; failed, because the provider does not accept the message; or uncertain. */
            state: Open<"delivered" | "gone" | "failed" | "uncertain">;
        };
        Devices: {
            /** @description In the order in which they were added. */
            devices: components["schemas"]["Device"][];
            /** @description The user's name. */
            user: string;
        };
        DevicesUsage: {
            /**
             * Format: int64
             * @description Devices that the tier allows; absent if there is no limit.
             */
            limit?: number;
            /**
             * Format: int64
             * @description Devices left; absent if there is no limit.
             */
            remaining?: number;
            /**
             * Format: int64
             * @description Devices of all users.
             */
            used: number;
        };
        Draft: {
            /**
             * Format: int64
             * @description The number at the app's icon. By default it does not change.
             */
            badge?: number | null;
            /** @description See title. */
            body?: string | null;
            /** @description 1 to 64 of a-z A-Z 0-9 . _ - A name in common, to count, list, pause, move and cancel messages together. */
            campaign?: string | null;
            /** @description 1 to 64 of a-z 0-9 _ - */
            category?: string | null;
            /** @description Additions for single channels, by the name of the channel: an object of at most 4,096 bytes in the provider's format. They are checked at submit, as is the size of the message for that channel. */
            channels?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            } | null;
            /** @description The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the app, such as myapp://orders/17. javascript:, data: and file: are not allowed. */
            click_url?: string | null;
            /** @description Refuse a local time that clocks skip or show twice, and name the valid ones. By default a skipped time means a later one, as far behind the gap as it would be into it, and a time that is shown twice means the first. */
            clock_strict?: boolean | null;
            /** @description The message replaces an earlier one with the same key on the device: 1 to 64 printable ASCII characters. */
            collapse_key?: string | null;
            /** @description Texts by name, for the app that shows the message. */
            data?: {
                [key: string]: string;
            } | null;
            /** @description RFC 3339, or a local time: a message that is not sent by then is dropped. By default a day after send_at. At most 31 days after the latest send time that is accepted. */
            expires_at?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description Keep the local time, not the instant: when the user's own time zone changes, the message moves to the same local time there, by the rules. Only with a send_at that is a local time in the zone user. A local expires_at in the zone user moves with it. */
            follow_zone?: boolean | null;
            /** @description Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - By default the server generates one. */
            id?: string | null;
            /** @description An https URL of an image to show, of at most 2,048 bytes. */
            image?: string | null;
            /** @description What to do if send_at has passed: refuse the message with in_past; now, send it now if it passed within a day; or a length of time such as 15m, 1s to 7d, send it now if it passed within that. By default what the user's policy says. */
            late?: string | null;
            /** @description Texts of the caller by name: at most 8, with at most 512 bytes of names and texts together. A name is 1 to 64 bytes without control characters. They go to the push target, and stay with the status after the message has ended. */
            metadata?: {
                [key: string]: string;
            } | null;
            /**
             * @description What to do if send_at is not free: refuse the message, or shift it to the next free time. By default what the user's policy says; with send_at now, shift.
             * @enum {string|null}
             */
            on_conflict?: "refuse" | "shift" | "" | null;
            /**
             * @description high if it may wake the device, normal if it may wait until the device is used. By default the channel decides.
             * @enum {string|null}
             */
            priority?: "high" | "normal" | "" | null;
            /** @description The send time: RFC 3339 with zone, cut to the millisecond, or a local time. now means as soon as the rules allow. Required, unless there is a window; beside one it is only for prefer nearest. */
            send_at?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description RFC 3339, or a local time: the last time that a shift may choose. By default a day after send_at. Without on_conflict it applies if the user's policy shifts, and has no effect if the policy refuses. With refuse it is not allowed. */
            shift_until?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description The name of a sound of the app's: at most 64 characters without control characters. */
            sound?: string | null;
            /** @description Title, body and data have at most 4,096 bytes together. Title or body is required. */
            title?: string | null;
            /** @description The user's devices that receive it. By default all. */
            to?: components["schemas"]["Target"] | null;
            /** @description The receiver: 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends. */
            user: string;
            /** @description Asks for a free time in a window, instead of a send time. */
            window?: components["schemas"]["WindowDraft"] | null;
        };
        EffectiveRule: {
            /** @description The category whose messages the rule counts; absent if it counts all messages. */
            category?: string;
            /**
             * @description policy, or user if it is in the user's settings.
             * @enum {string}
             */
            from: "policy" | "user";
            /** @description The policy's rule that it replaces; absent if the policy has no rule with that window, so that the limit applies beside its rules. */
            replaces?: string;
            /** @description The rule, as in the policy. */
            rule: string;
        };
        EffectiveRules: {
            /** @description Changes for send times of some dates. */
            changes?: string[];
            /** @description Categories to which no rule applies. */
            exempt?: components["schemas"]["ExemptCategory"][];
            /** @description Categories that the user does not want. */
            opt_out?: string[];
            /** @description The name of the policy. */
            policy: string;
            /** @description Categories with quiet times of their own. */
            quiet?: components["schemas"]["CategoryQuiet"][];
            /** @description When nothing is sent, except messages of the categories in quiet: hours, allowed hours after the word only, and dates after the word blackout. */
            quiet_hours: string[];
            /** @description The time zone of the quiet hours. */
            quiet_time_zone: string;
            /** @description All rules; those of categories come last. */
            rules: components["schemas"]["EffectiveRule"][];
            /** @description The time zone in which calendar rules count. */
            time_zone: string;
            /**
             * Format: int64
             * @description The version of the policy.
             */
            version: number;
        };
        /** @description The query of eraseUser. */
        EraseUserQuery: {
            /** @description How long to wait for messages being delivered, at most 10m. By default 1m. */
            wait?: string;
        };
        Event: {
            /** @description The message. */
            data: components["schemas"]["EventData"];
            /** @description application/json */
            datacontenttype: string;
            /** @description The event's id, unique in its source. Ids ascend with time. */
            id: string;
            /** @description The stream of the event: /v1/accounts/acme/events, or /v1/events for those of all accounts. */
            source: string;
            /** @description 1.0, the version of CloudEvents. */
            specversion: string;
            /** @description The message's id. */
            subject: string;
            /**
             * Format: date-time
             * @description When it happened.
             */
            time: string;
            /** @description sendlimit.message. and the change: delivered, postponed, dropped, failed, uncertain, moved, replaced or cancelled. */
            type: string;
        };
        EventData: {
            /** @description The account that was charged for the message; absent without accounts. */
            account?: string;
            /**
             * Format: int64
             * @description The number of delivery attempts.
             */
            attempt?: number;
            /** @description Its campaign. */
            campaign?: string;
            /**
             * Format: date-time
             * @description The previous send time, if the message was moved, replaced or postponed.
             */
            former_send_at?: string;
            /** @description The message's id. */
            id: string;
            /** @description The local time that was asked for, and how it was read. */
            local?: components["schemas"]["ResolvedLocal"];
            /** @description Its metadata. */
            metadata?: {
                [key: string]: string;
            };
            /** @description The provider's id of the message. */
            provider_id?: string;
            /** @description Why the message was dropped, given up or postponed, as in the reason of a status; or settings_changed for a move by changed settings of its user. */
            reason?: string;
            /**
             * Format: date-time
             * @description The send time that was requested, if it differs from send_at.
             */
            requested_at?: string;
            /**
             * Format: date-time
             * @description The current or last send time.
             */
            send_at?: string;
            /** @description The user's name. */
            user: string;
            /** @description The window that was asked for. Then there is no requested_at. */
            window?: components["schemas"]["ResolvedWindow"];
        };
        EventLimits: {
            /** @description Percents of the limit of the longest period that alert; absent if there are no alerts. */
            alert_at?: number[];
            /** @description Where the alerts go; absent if there are none. */
            alert_to?: string;
            /** @description The name of the event. */
            event: string;
            /**
             * Format: int64
             * @description How often in a natural day; absent if there is no limit.
             */
            per_day?: number;
            /**
             * Format: int64
             * @description How often in a natural hour; absent if there is no limit.
             */
            per_hour?: number;
            /**
             * Format: int64
             * @description How often in a natural minute; absent if there is no limit.
             */
            per_minute?: number;
            /** @description The IANA time zone of the hours and days. */
            time_zone: string;
        };
        EventLimitsDraft: {
            /** @description Percents of the limit of the longest period at which alert_to is alerted, ascending. Requires alert_to. */
            alert_at?: number[] | null;
            /** @description Where the alerts go: an e-mail address or an https: URL. */
            alert_to?: string | null;
            /** @description Accept an event that your program counts, not this API. By default such a name is refused. */
            custom?: boolean | null;
            /**
             * Format: int64
             * @description How often in a natural day; absent for no limit. At least one limit is required.
             */
            per_day?: number | null;
            /**
             * Format: int64
             * @description How often in a natural hour; absent for no limit.
             */
            per_hour?: number | null;
            /**
             * Format: int64
             * @description How often in a natural minute; absent for no limit.
             */
            per_minute?: number | null;
            /** @description The IANA time zone of the hours and days. By default UTC. */
            time_zone?: string | null;
        };
        EventLimitsList: {
            /** @description By name. */
            events: components["schemas"]["EventLimits"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        EventLimitsRemoval: {
            /** @description The name of the event. */
            event: string;
            /** @description removed */
            outcome: Open<"removed">;
        };
        Events: {
            /** @description The oldest first. */
            events: components["schemas"]["Event"][];
            /** @description The event to read after was removed, so events after it may be missing. */
            gap?: boolean;
            /** @description The id to read after next; absent if there are no events. */
            next?: string;
        };
        ExemptCategory: {
            /** @description The category's name. */
            category: string;
            /** @description Whether its messages count in the policy's rules. */
            counts: boolean;
        };
        /** @description The query of findMessage. */
        FindMessageQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Messages a page. */
            limit?: number;
        };
        /** @description The query of findMessages. */
        FindMessagesQuery: {
            /** @description Only messages of this account. */
            account?: string;
            /** @description Only messages of this campaign. */
            campaign?: string;
            /** @description Only messages of this category. */
            category?: string;
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description First send time. RFC 3339, or now; a + is written %2B. */
            from?: string | Date;
            /** @description Messages a page. */
            limit?: number;
            /**
             * @description Only messages with this status.
             * @enum {string}
             */
            status?: "scheduled" | "postponed" | "moved" | "sending" | "delivered" | "dropped" | "failed" | "uncertain" | "cancelled";
            /** @description End of the send times, exclusive. RFC 3339, or now; a + is written %2B. */
            until?: string | Date;
            /** @description Only messages to this user. */
            user?: string;
            /** @description Only messages to users whose names have this prefix. Excludes user. */
            user_prefix?: string;
        };
        /** @description The query of followEvents. */
        FollowEventsQuery: {
            /** @description The account; by default the key's own, and all for a key with admin. Another account requires the scope admin. */
            account?: string;
            /** @description The id of the event to continue after; 0 for all stored events. By default a stream starts now, and a page with the oldest stored event. */
            after?: string;
            /** @description false answers with a page in JSON. */
            follow?: boolean;
            /** @description Events a page, with follow=false. */
            limit?: number;
        };
        FollowThrough: {
            /**
             * Format: int64
             * @description Scheduled messages that did not fit the settings when they changed.
             */
            affected: number;
            /** @description Whether nothing is left to do. Otherwise the same request continues, and so do workers. After a later change of the settings it is false: that change decides. */
            complete: boolean;
            /**
             * Format: int64
             * @description Messages that were dropped.
             */
            dropped?: number;
            /**
             * Format: int64
             * @description Messages that were sent, moved or cancelled meanwhile.
             */
            gone?: number;
            /** @description A sentence for a person: what can be done. */
            hint?: string;
            /**
             * Format: int64
             * @description Messages that follow the user's time zone, and stay where they are: their local time in the new zone is not free.
             */
            kept?: number;
            /** @description In a dry run, the messages that would not fit, by their times: at most the first 1,000. */
            messages?: components["schemas"]["Misfit"][];
            /**
             * Format: int64
             * @description Messages that were moved.
             */
            moved?: number;
            /** @description What was asked: keep, shift or drop. */
            then?: Open<"keep" | "shift" | "drop">;
        };
        Forecast: {
            /**
             * Format: date-time
             * @description When it was counted, by the store's clock; absent before the first count, which the first request starts.
             */
            counted_at?: string;
            /** @description Due messages in each of 24 hours in UTC, beginning with that of counted_at. */
            hours: number[];
            /** @description Later hours with due messages, up to 400 days ahead. */
            later: components["schemas"]["HourCount"][];
            /**
             * Format: date-time
             * @description When the later hours were counted; absent before the first count.
             */
            later_counted_at?: string;
            /** @description Due messages in each of 60 minutes, beginning with that of counted_at. */
            minutes: number[];
            /**
             * Format: int64
             * @description Of these, messages whose send time had passed.
             */
            overdue: number;
            /**
             * Format: int64
             * @description Messages that have not ended.
             */
            pending: number;
        };
        Found: {
            /** @description One for each user with the id, not sorted. */
            messages: components["schemas"]["Status"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        FreeTime: {
            /**
             * Format: date-time
             * @description A free time.
             */
            free_at: string;
            /** @description The user's name. */
            user: string;
        };
        FreeTimes: {
            /** @description Fewer than requested if no more are free within the reach. */
            times: components["schemas"]["FreeTime"][];
        };
        /** @description The query of getDeadLetter. */
        GetDeadLetterQuery: {
            /** @description Includes the content: title, body, data and push options. For another account's message this requires the scope content. */
            content?: boolean;
        };
        /** @description The query of getNextFree. */
        GetNextFreeQuery: {
            /** @description The category of the messages, whose rules apply too. */
            category?: string;
            /** @description Number of times. */
            count?: number;
            /** @description Start of the search; by default now. RFC 3339, or now; a + is written %2B. */
            from?: string | Date;
        };
        /** @description The query of getPace. */
        GetPaceQuery: {
            /**
             * @description The channel of the pace. By default the pace is for all messages together.
             * @enum {string}
             */
            channel?: "log" | "webhook" | "fcm" | "apns" | "webpush" | "service";
        };
        /** @description The query of getUsage. */
        GetUsageQuery: {
            /** @description The time; by default now. RFC 3339, or now; a + is written %2B. */
            at?: string | Date;
            /** @description Adds the rules of this category, and the free times for its messages. */
            category?: string;
            /** @description Start of the timeline; by default 12 hours before at. RFC 3339, or now; a + is written %2B. */
            from?: string | Date;
            /** @description End of the timeline, up to 32 days later; by default 12 hours after at. RFC 3339, or now; a + is written %2B. */
            until?: string | Date;
        };
        HistoryEntry: {
            /**
             * Format: date-time
             * @description When it changed. A delivered message was delivered when its delivery began.
             */
            at: string;
            /**
             * Format: int64
             * @description The number of the delivery that failed, was taken over or ended the message.
             */
            attempt?: number;
            /** @description What changed. accepted begins a history, and delivered, cancelled, dropped, failed or uncertain ends it. Between them: moved, changed (content, metadata, expires_at) or replaced by a request, or moved by changed settings of its user (the reason is settings_changed); postponed because it was late, to now or later; retry of a failed delivery at send_at; taken_over from a worker that died or was cut off; revived from the dead letters; paused when it was due and its campaign was paused; resumed after that pause. */
            change: Open<"accepted" | "moved" | "replaced" | "changed" | "postponed" | "retry" | "taken_over" | "revived" | "paused" | "resumed" | "delivered" | "cancelled" | "dropped" | "failed" | "uncertain">;
            /**
             * Format: date-time
             * @description The send time before the change.
             */
            former_send_at?: string;
            /** @description The local time that this change asked for, and how it was read. Only the last change that gave the message a send time has it. */
            local?: components["schemas"]["ResolvedLocal"];
            /** @description Why, as in the reason of a status. A reason of more than about 20 bytes may be cut. */
            reason?: string;
            /**
             * Format: date-time
             * @description The send time after the change; with retry, when delivery is tried again.
             */
            send_at?: string;
            /**
             * Format: date-time
             * @description For paused: when the message expires, unless its campaign is resumed before.
             */
            until?: string;
            /** @description The window that this change asked for. Only the last change that gave the message a send time has it. */
            window?: components["schemas"]["ResolvedWindow"];
        };
        HourCount: {
            /**
             * Format: int64
             * @description Due messages.
             */
            count: number;
            /**
             * Format: date-time
             * @description When the hour begins.
             */
            start: string;
        };
        Key: {
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the key expires; absent for never.
             */
            expires_at?: string;
            /** @description The key's id, which is not secret. */
            id: string;
            /** @description What the key may be used for: submit, read, admin, content. */
            scopes: string[];
        };
        KeyDraft: {
            /** @description RFC 3339: when the key expires; by default never. */
            expires_at?: string | Date | null;
            /** @description What the key may be used for: submit, read, admin, content; by default submit and read. content, which needs admin, shows content and metadata of other accounts' messages, and allows changing them. Only a key with this scope can give it. */
            scopes?: ("submit" | "read" | "admin" | "content")[] | null;
        };
        KeyRotation: {
            /** @description How long the old key still works, such as 1h or 7d: by default 1d, at most 366d. 0 ends it at once. */
            overlap?: string | null;
        };
        LearnedPace: {
            /**
             * Format: double
             * @description Calls of all workers together in a second, at present. The lower of it and of rate holds.
             */
            per_second: number;
            /**
             * Format: double
             * @description Calls in a second when the target last refused some.
             */
            refused_per_second: number;
        };
        /** @description The query of listAccounts. */
        ListAccountsQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Entries a page. */
            limit?: number;
        };
        /** @description The query of listAuditEntries. */
        ListAuditEntriesQuery: {
            /** @description Only changes by this account or of its data. */
            account?: string;
            /** @description Only this action. */
            action?: string;
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Start time. RFC 3339, or now; a + is written %2B. */
            from?: string | Date;
            /** @description Entries a page. */
            limit?: number;
            /** @description Only changes of the object with this name. */
            object?: string;
            /** @description End time, exclusive. RFC 3339, or now; a + is written %2B. */
            until?: string | Date;
            /** @description Only changes about this user. */
            user?: string;
        };
        /** @description The query of listDeadAlerts. */
        ListDeadAlertsQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Dead alerts a page. */
            limit?: number;
        };
        /** @description The query of listDeadEvents. */
        ListDeadEventsQuery: {
            /** @description The account; by default the key's own. Another account requires the scope admin. */
            account?: string;
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Dead events a page. */
            limit?: number;
        };
        /** @description The query of listDeadLetters. */
        ListDeadLettersQuery: {
            /** @description Only those of this account. */
            account?: string;
            /** @description Only those of this campaign. */
            campaign?: string;
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Dead letters a page. */
            limit?: number;
            /** @description Only those given up for this reason. */
            reason?: string;
            /** @description Only dead letters to this user. */
            user?: string;
        };
        /** @description The query of listEventLimits. */
        ListEventLimitsQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Entries a page. */
            limit?: number;
        };
        /** @description The query of listMessages. */
        ListMessagesQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description First send time; by default the oldest one. RFC 3339, or now; a + is written %2B. */
            from?: string | Date;
            /** @description Messages a page. */
            limit?: number;
            /** @description true adds the titles of the messages whose content the key may see. */
            titles?: boolean;
            /** @description End of the send times, exclusive; by default none. RFC 3339, or now; a + is written %2B. */
            until?: string | Date;
        };
        /** @description The query of listPolicies. */
        ListPoliciesQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Entries a page. */
            limit?: number;
        };
        /** @description The query of listTiers. */
        ListTiersQuery: {
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Entries a page. */
            limit?: number;
        };
        /** @description The query of listUsers. */
        ListUsersQuery: {
            /** @description Only blocked users. */
            blocked?: boolean;
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Users a page. */
            limit?: number;
            /** @description Only users whose settings name this policy. */
            policy?: string;
        };
        ListedUser: {
            /** @description Whether no more messages are accepted for the user. */
            blocked?: boolean;
            /** @description The contact that is alerted when a daily rule is full. */
            contact?: string;
            /** @description Rules that replace the policy's rules with the same windows. */
            limits?: string[];
            /** @description The name of the user's policy; absent for default. */
            policy?: string;
            /** @description The user's IANA time zone. */
            time_zone?: string;
            /** @description Only a newer program can read the settings. */
            unreadable?: boolean;
            /** @description The user's name. */
            user: string;
        };
        LocalTime: {
            /** @description What clocks show: YYYY-MM-DDTHH:MM, with or without seconds. */
            local: string;
            /** @description user, which is the default: the user's own time zone, else that of the user's policy, else UTC. Or an IANA name such as Europe/Berlin. */
            zone?: string | null;
        };
        MessageTarget: {
            /** @description The app of the devices. */
            app?: string;
            /** @description The channel of the devices, or a channel without devices as a whole. */
            channel?: Open<"fcm" | "apns" | "webpush" | "webhook" | "log" | "service">;
            /** @description The id of one device. */
            device?: string;
        };
        Messages: {
            /** @description The messages of one user are sorted by send time, then id; those of all users are not sorted. */
            messages: components["schemas"]["Status"][];
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
        };
        Misfit: {
            /** @description The rule that the message would break, preceded by its category if it has one; or quiet_hours, do_not_disturb, opted_out or blocked. */
            breaks: string;
            /** @description Its category. */
            category?: string;
            /** @description Why the message was kept. */
            code?: components["schemas"]["Code"];
            /** @description A sentence for a person. */
            detail: string;
            /** @description The message's id. */
            id: string;
            /**
             * Format: date-time
             * @description The send time that did not fit.
             */
            moved_from?: string;
            /** @description misfit in a dry run; otherwise moved, cancelled, kept if nothing could be done, or gone if it was sent, moved or cancelled meanwhile. */
            outcome: Open<"misfit" | "moved" | "cancelled" | "kept" | "gone">;
            /** @description The quiet hours that contain the send time. */
            quiet_hours?: components["schemas"]["QuietHours"];
            /**
             * Format: date-time
             * @description The send time; for a moved message, the new one.
             */
            send_at: string;
            /** @description The user's name. */
            user: string;
        };
        /** @description The query of moveCampaign. */
        MoveCampaignQuery: {
            /** @description The account of the campaign; by default the key's own. Another account requires the scope admin. */
            account?: string;
        };
        MoveDraft: {
            /**
             * Format: int64
             * @description The new badge; null to leave the one at the icon.
             */
            badge?: number | null;
            /** @description The new body; null for none. */
            body?: string | null;
            /** @description By the name of a channel, a merge patch of its additions, or null to remove them; null instead of an object removes all. */
            channels?: {
                [key: string]: {
                    [key: string]: unknown;
                } | null;
            } | null;
            /** @description The new click_url; null for none. */
            click_url?: string | null;
            /** @description Refuse a local time that clocks skip or show twice, as in a submit. */
            clock_strict?: boolean | null;
            /** @description The new collapse_key; null for none. */
            collapse_key?: string | null;
            /** @description Entries of data to set, or with null to remove; null instead of an object removes all. */
            data?: {
                [key: string]: string | null;
            } | null;
            /** @description RFC 3339 or a local time, after the send time: a message that is not sent by then is dropped. null for a day after send_at. */
            expires_at?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description Keep the new local time when the user's own time zone changes, as in a submit. A move without it ends that. */
            follow_zone?: boolean | null;
            /** @description The new image; null for none. */
            image?: string | null;
            /** @description Entries of metadata to set, or with null to remove; null instead of an object removes all. */
            metadata?: {
                [key: string]: string | null;
            } | null;
            /**
             * @description What to do if the new time is not free: refuse, so that the message keeps the old one, or shift it to the next free time. By default refuse.
             * @enum {string|null}
             */
            on_conflict?: "refuse" | "shift" | "" | null;
            /**
             * @description The new priority; null for the channel's default.
             * @enum {string|null}
             */
            priority?: "high" | "normal" | "" | null;
            /** @description The new send time: RFC 3339 with zone, a local time, or now. Required unless there is something else to change. */
            send_at?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description RFC 3339, or a local time: the last time that a shift may choose. By default a day after send_at. Only with on_conflict shift. */
            shift_until?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description The new sound; null for none. */
            sound?: string | null;
            /** @description The new title; null for none. Title, body and data have at most 4,096 bytes together. Title or body must remain. */
            title?: string | null;
            /** @description Members of to to set, or with null to remove; null instead of an object, or no member left, means all devices. */
            to?: {
                [key: string]: string | null;
            } | null;
        };
        NewKey: {
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the key expires; absent for never.
             */
            expires_at?: string;
            /** @description The key's id, which is not secret. */
            id: string;
            /** @description The secret key, which is shown only once. */
            key: string;
            /** @description What the key may be used for: submit, read, admin, content. */
            scopes: string[];
        };
        Notice: {
            /** @description The change of the account's callback: set, secret or removed; or of a key: added, replaced or removed. Only with the kinds callback_changed and keys_changed. */
            change?: Open<"accepted" | "moved" | "replaced" | "changed" | "postponed" | "retry" | "taken_over" | "revived" | "paused" | "resumed" | "delivered" | "cancelled" | "dropped" | "failed" | "uncertain">;
            /** @description The day, such as 2026-11-22, in time_zone. */
            day?: string;
            /** @description The event with the limit. Only with the kind event_limit. */
            event?: string;
            /** @description The host of the callback after the change. Only with the kind callback_changed. */
            host?: string;
            /** @description Its id, the same at every attempt. */
            id: string;
            /** @description The key whose calls are counted: the account, for events of the API. With keys_changed, the id of the API key that was replaced or removed. Only with these kinds. */
            key?: string;
            /** @description account_quota, user_quota, user_quota_digest, daily_report, event_limit, callback_changed or keys_changed. */
            kind: Open<"account_quota" | "user_quota" | "user_quota_digest" | "daily_report" | "event_limit" | "callback_changed" | "keys_changed">;
            /**
             * Format: int64
             * @description Messages that the day's quota or rule allows, or calls that the event's limit allows. Only in alerts.
             */
            limit?: number;
            /**
             * Format: int64
             * @description Users of a digest beyond users.
             */
            more?: number;
            /** @description The policy of that rule. */
            policy?: string;
            /** @description The figures of a daily report. */
            report?: components["schemas"]["Report"];
            /** @description The user's daily rule, such as 10/calendar_day; for an event, its limit, such as 100/calendar_hour. */
            rule?: string;
            /** @description What the key allows that was added. Only with the kind keys_changed. */
            scopes?: string[];
            /** @description When the period of the event's limit began, RFC 3339 in time_zone; with callback_changed and keys_changed, the time of the change. Only with these kinds. */
            since?: string;
            /** @description The account or the user; in a digest, the policy; for an event, the event and the key, such as submit/acme. */
            subject: string;
            /**
             * Format: int64
             * @description The percentage of limit that was reached. Only in alerts.
             */
            threshold?: number;
            /** @description The IANA zone of the day; absent for UTC. */
            time_zone?: string;
            /** @description When that period ends. Only with the kind event_limit. */
            until?: string;
            /**
             * Format: int64
             * @description Messages of that day, or calls of the event, when the threshold was reached. Only in alerts.
             */
            used?: number;
            /** @description The users of a digest. */
            users?: components["schemas"]["UserQuota"][];
        };
        Outcome: {
            /** @description The code of a refusal or an error, for programs. */
            code?: components["schemas"]["Code"];
            /** @description A sentence for a person. */
            detail?: string;
            /**
             * Format: date-time
             * @description The time before which the user is not disturbed, with the code do_not_disturb.
             */
            do_not_disturb_until?: string;
            /** @description The field or parameter that is wrong. If several are wrong, this is the first and detail names all. */
            field?: string;
            /** @description The message was recorded, but is too old to count in any rule. */
            forgotten?: boolean;
            /** @description The message's id. */
            id?: string;
            /** @description The requested send time had passed, and the message is sent now. */
            late?: boolean;
            /**
             * Format: int64
             * @description The line of a batch, from 1.
             */
            line?: number;
            /** @description How the send time was read, if it was asked for as a local time. */
            local?: components["schemas"]["ResolvedLocal"];
            /**
             * Format: date-time
             * @description The send time before the last move; with replaced, that of the former message, not in a repetition.
             */
            moved_from?: string;
            /**
             * Format: date-time
             * @description The next free time; absent if there is none, or in a batch with without_free_times.
             */
            next_free_at?: string;
            /** @description all or some, if all or some of the messages in the way belong to other accounts; absent if none does, and with the scope admin. */
            others?: string;
            /** @description What was done. With refused, invalid and error nothing was done. */
            outcome: Open<"accepted" | "replaced" | "cancelled" | "moved" | "changed" | "recorded" | "retried" | "purged" | "refused" | "invalid" | "error">;
            /**
             * Format: date-time
             * @description The last free time before the requested one that is not in the past; absent if there is none.
             */
            previous_free_at?: string;
            /** @description The quiet hours that contain the send time, with the code quiet_hours. */
            quiet_hours?: components["schemas"]["QuietHours"];
            /** @description The request is a repetition, and this is the answer to the first one. */
            replayed?: boolean;
            /**
             * Format: date-time
             * @description The send time that was requested, if it differs from send_at.
             */
            requested_at?: string;
            /**
             * Format: date-time
             * @description When the exhausted quota starts again.
             */
            resets_at?: string;
            /**
             * Format: int64
             * @description Seconds until resets_at, if that is the end of the current hour or day; with rate_limited, until the message can be moved or replaced again.
             */
            retry_after_seconds?: number;
            /**
             * Format: date-time
             * @description The send time.
             */
            send_at?: string;
            /** @description The message got the next free time instead of the requested one. */
            shifted?: boolean;
            /** @description The user's name. */
            user?: string;
            /** @description Every rule that the message would break, in the order of the policy. */
            violations?: components["schemas"]["Violation"][];
            /** @description The window that was asked for. Then there is no requested_at. */
            window?: components["schemas"]["ResolvedWindow"];
            /** @description Why the last time of the window is not free. code, violations and the like are about send_at, its first time that is not past, and next_free_at and previous_free_at are outside the window. */
            window_end?: components["schemas"]["WindowEnd"];
        };
        Overview: {
            /**
             * Format: date-time
             * @description When, by the store's clock.
             */
            at: string;
            /**
             * Format: int64
             * @description The queue lag: for how many milliseconds the oldest undelivered message has been due; 0 if none is.
             */
            behind_ms: number;
            /**
             * Format: int64
             * @description Messages that were given up.
             */
            dead_letters: number;
            /**
             * Format: int64
             * @description Alerts and reports that were given up.
             */
            failed_alerts: number;
            /** @description What became of messages in the last 60 minutes. */
            hour: components["schemas"]["Activity"];
            /** @description The same by minute, the present one last. */
            minutes: components["schemas"]["ActivityMinute"][];
            /** @description How many tasks the queue has in each state. */
            queue: {
                [key: string]: number;
            };
            /** @description Whether an operator has stopped all sending. */
            sending: components["schemas"]["Sending"];
            /** @description Why a part could not be read: that part is out of date. Absent if everything was read. */
            unread?: string;
            /** @description The workers, by host and process. */
            workers: components["schemas"]["Worker"][];
        };
        Pace: {
            /**
             * Format: int64
             * @description Deliveries that may start at once; absent if it is as many as the rate allows.
             */
            burst?: number;
            /** @description How fast the target accepts calls, as its refusals show; absent if it has refused none for an hour. */
            learned?: components["schemas"]["LearnedPace"];
            /**
             * Format: date-time
             * @description The end of the pause that the target asked for; absent if there is none.
             */
            paused_until?: string;
            /** @description Deliveries in an interval; absent without a limit. */
            rate?: string;
            /** @description The target: push, or push- and a channel. */
            target: string;
        };
        PaceDraft: {
            /**
             * Format: int64
             * @description Deliveries that may start at once, at most as many as the rate allows, which is the default.
             */
            burst?: number | null;
            /** @description Deliveries in an interval, such as 100/second, 6000/minute or 20/500ms: 1 to 100,000 in 1 ms to 31 days. */
            rate: string;
        };
        /** @description The query of pauseCampaign. */
        PauseCampaignQuery: {
            /** @description The account of the campaign; by default the key's own. Another account requires the scope admin. */
            account?: string;
        };
        Policies: {
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
            /** @description By name. */
            policies: components["schemas"]["Policy"][];
            /** @description Names of policies of this page that only a newer program can read. */
            unreadable?: string[];
        };
        Policy: {
            /** @description What percentage of each rule one account may use up for a user where several accounts are active, such as 50%, rounded up; by default all. It is judged when a message is submitted or moved. */
            account_share?: string;
            /** @description Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and 100, empty is never. */
            alert_at?: number[];
            /** @description Who receives a list of users that reached such a percentage, once an hour: an e-mail address or an https: URL. */
            alert_to?: string;
            /** @description Dates on which nothing is sent, in the user's time zone: 2027-01-01, 12-25 for every year, 2027-04-02..2027-04-05, or the name of a calendar. */
            blackouts?: string[];
            /** @description Lists of dates by name, which blackouts can name. A name begins with a letter. */
            calendars?: {
                [key: string]: string[] | null;
            };
            /** @description Rules for messages of a category, by its name. */
            categories?: {
                [key: string]: components["schemas"]["Category"];
            };
            /** @description Changes for the send times of some dates, at most one to each time. */
            changes?: components["schemas"]["Change"][];
            /** @description What becomes of a message without its own late whose send_at has passed: refuse; now, if it passed within a day; or how long ago it may have passed, 1s to 7d, such as 15m. Then it is sent now. By default refuse. */
            late?: string;
            /** @description 1 to 64 of a-z 0-9 _ - A request may leave it out, since it is in the address. */
            name?: string;
            /**
             * @description refuse or shift, for a message without its own on_conflict whose time is not free; by default refuse.
             * @enum {string}
             */
            on_conflict?: "refuse" | "shift";
            /** @description The only hours at which anything is sent, in the user's time zone: 09:00-20:00; by default all. */
            only?: string[];
            /** @description When nothing is sent, in the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00. */
            quiet_hours?: string[];
            /** @description How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as the program allows. */
            reach?: string;
            /** @description At least one rule, such as 5/hour or 10/calendar_day, and at most one for each window. A message must fit all. */
            rules: string[];
            /** @description Over how long after the end of quiet hours, or of other times at which nothing is sent, messages are spread that shift out of them: 1s to 1d, such as 30m. By default all of them take the first moment that is free. */
            shift_spread?: string;
            /** @description The IANA time zone of calendar rules and quiet hours; by default UTC. */
            time_zone?: string;
            /**
             * @description refuse or allow, for a message of a category that the policy does not name; by default refuse if it names any.
             * @enum {string}
             */
            unknown_categories?: "refuse" | "allow";
            /** @description Whether calendar rules count in the user's own time zone, if it is set. */
            user_time_zone?: boolean;
            /**
             * Format: int64
             * @description Differs after each change. Ignored in a request: If-Match names the version to replace.
             */
            version?: number;
        };
        PolicyChange: {
            /** @description Whether the policy changed. Then its version changed too. */
            changed: boolean;
            /**
             * Format: date-time
             * @description The send time from which on the rules count everything. It is set if a window is longer than those of all policies before, because older sends are forgotten.
             */
            exact_from?: string;
            /** @description The policy after the change. */
            new: components["schemas"]["Policy"];
            /** @description The policy before; absent if there was none. */
            old?: components["schemas"]["Policy"];
        };
        PolicyDeletion: {
            /** @description deleted */
            outcome: Open<"deleted">;
            /** @description The name of the policy. */
            policy: string;
        };
        PolicyDocument: {
            /** @description What percentage of each rule one account may use up for a user where several accounts are active, such as 50%, rounded up; by default all. It is judged when a message is submitted or moved. */
            account_share?: string | null;
            /** @description Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and 100, empty is never. */
            alert_at?: number[] | null;
            /** @description Who receives a list of users that reached such a percentage, once an hour: an e-mail address or an https: URL. */
            alert_to?: string | null;
            /** @description Dates on which nothing is sent, in the user's time zone: 2027-01-01, 12-25 for every year, 2027-04-02..2027-04-05, or the name of a calendar. */
            blackouts?: string[] | null;
            /** @description Lists of dates by name, which blackouts can name. A name begins with a letter. */
            calendars?: {
                [key: string]: string[] | null;
            } | null;
            /** @description Rules for messages of a category, by its name. */
            categories?: {
                [key: string]: components["schemas"]["CategoryDocument"];
            } | null;
            /** @description Changes for the send times of some dates, at most one to each time. */
            changes?: components["schemas"]["ChangeDocument"][] | null;
            /** @description What becomes of a message without its own late whose send_at has passed: refuse; now, if it passed within a day; or how long ago it may have passed, 1s to 7d, such as 15m. Then it is sent now. By default refuse. */
            late?: string | null;
            /** @description 1 to 64 of a-z 0-9 _ - A request may leave it out, since it is in the address. */
            name?: string | null;
            /**
             * @description refuse or shift, for a message without its own on_conflict whose time is not free; by default refuse.
             * @enum {string|null}
             */
            on_conflict?: "refuse" | "shift" | "" | null;
            /** @description The only hours at which anything is sent, in the user's time zone: 09:00-20:00; by default all. */
            only?: string[] | null;
            /** @description When nothing is sent, in the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00. */
            quiet_hours?: string[] | null;
            /** @description How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as the program allows. */
            reach?: string | null;
            /** @description At least one rule, such as 5/hour or 10/calendar_day, and at most one for each window. A message must fit all. */
            rules: string[];
            /** @description Over how long after the end of quiet hours, or of other times at which nothing is sent, messages are spread that shift out of them: 1s to 1d, such as 30m. By default all of them take the first moment that is free. */
            shift_spread?: string | null;
            /** @description The IANA time zone of calendar rules and quiet hours; by default UTC. */
            time_zone?: string | null;
            /**
             * @description refuse or allow, for a message of a category that the policy does not name; by default refuse if it names any.
             * @enum {string|null}
             */
            unknown_categories?: "refuse" | "allow" | "" | null;
            /** @description Whether calendar rules count in the user's own time zone, if it is set. */
            user_time_zone?: boolean | null;
            /**
             * Format: int64
             * @description Differs after each change. Ignored in a request: If-Match names the version to replace.
             */
            version?: number | null;
        };
        PolicyRollback: {
            /**
             * Format: int64
             * @description The version to store again, one of those that listPolicyVersions returns.
             */
            version: number;
        };
        PolicyVersion: {
            /**
             * Format: date-time
             * @description When it was stored.
             */
            at: string;
            /** @description Who stored it: "account" and a name, or the name of who sent no key; absent if that is unknown. */
            by?: string;
            /** @description The policy was deleted with this version. */
            deleted?: boolean;
            /** @description The policy; absent for a deletion, and if only a newer program can read it. */
            policy?: components["schemas"]["Policy"];
            /**
             * Format: int64
             * @description The version, for rollbackPolicy.
             */
            version: number;
        };
        PolicyVersions: {
            /** @description The newest first, at most 100. */
            versions: components["schemas"]["PolicyVersion"][];
        };
        Problem: {
            /** @description The code of a refusal or an error, for programs. */
            code?: components["schemas"]["Code"];
            /** @description A sentence for a person. */
            detail?: string;
            /**
             * Format: date-time
             * @description The time before which the user is not disturbed, with the code do_not_disturb.
             */
            do_not_disturb_until?: string;
            /** @description The field or parameter that is wrong. If several are wrong, this is the first and detail names all. */
            field?: string;
            /** @description The message was recorded, but is too old to count in any rule. */
            forgotten?: boolean;
            /** @description The message's id. */
            id?: string;
            /** @description The request's id, as X-Request-Id has it. */
            instance?: string;
            /** @description The requested send time had passed, and the message is sent now. */
            late?: boolean;
            /**
             * Format: int64
             * @description The line of a batch, from 1.
             */
            line?: number;
            /** @description How the send time was read, if it was asked for as a local time. */
            local?: components["schemas"]["ResolvedLocal"];
            /**
             * Format: date-time
             * @description The send time before the last move; with replaced, that of the former message, not in a repetition.
             */
            moved_from?: string;
            /**
             * Format: date-time
             * @description The next free time; absent if there is none, or in a batch with without_free_times.
             */
            next_free_at?: string;
            /** @description all or some, if all or some of the messages in the way belong to other accounts; absent if none does, and with the scope admin. */
            others?: string;
            /** @description What was done. With refused, invalid and error nothing was done. */
            outcome: Open<"accepted" | "replaced" | "cancelled" | "moved" | "changed" | "recorded" | "retried" | "purged" | "refused" | "invalid" | "error">;
            /**
             * Format: date-time
             * @description The last free time before the requested one that is not in the past; absent if there is none.
             */
            previous_free_at?: string;
            /** @description The quiet hours that contain the send time, with the code quiet_hours. */
            quiet_hours?: components["schemas"]["QuietHours"];
            /** @description The request is a repetition, and this is the answer to the first one. */
            replayed?: boolean;
            /**
             * Format: date-time
             * @description The send time that was requested, if it differs from send_at.
             */
            requested_at?: string;
            /**
             * Format: date-time
             * @description When the exhausted quota starts again.
             */
            resets_at?: string;
            /**
             * Format: int64
             * @description Seconds until resets_at, if that is the end of the current hour or day; with rate_limited, until the message can be moved or replaced again.
             */
            retry_after_seconds?: number;
            /**
             * Format: date-time
             * @description The send time.
             */
            send_at?: string;
            /** @description The message got the next free time instead of the requested one. */
            shifted?: boolean;
            /**
             * Format: int64
             * @description The HTTP status.
             */
            status: number;
            /** @description The kind of problem in a few words. */
            title: string;
            /** @description Names the kind of problem, by its code: /problems/send_limit. */
            type: string;
            /** @description The user's name. */
            user?: string;
            /** @description Every rule that the message would break, in the order of the policy. */
            violations?: components["schemas"]["Violation"][];
            /** @description The window that was asked for. Then there is no requested_at. */
            window?: components["schemas"]["ResolvedWindow"];
            /** @description Why the last time of the window is not free. code, violations and the like are about send_at, its first time that is not past, and next_free_at and previous_free_at are outside the window. */
            window_end?: components["schemas"]["WindowEnd"];
        };
        /** @description The query of purgeDeadAlerts. */
        PurgeDeadAlertsQuery: {
            /** @description Maximum number to remove. */
            limit?: number;
            /** @description Removes entries that ended longer ago than this, such as 7d or 36h by the store's clock. 0s removes all. */
            older_than: string;
        };
        /** @description The query of purgeDeadEvents. */
        PurgeDeadEventsQuery: {
            /** @description The account; by default the key's own. Another account requires the scope admin. */
            account?: string;
            /** @description The id of a single dead event to remove. */
            id?: string;
        };
        /** @description The query of purgeDeadLetters. */
        PurgeDeadLettersQuery: {
            /** @description Maximum number to remove. */
            limit?: number;
            /** @description Removes entries that ended longer ago than this, such as 7d or 36h by the store's clock. 0s removes all. */
            older_than: string;
        };
        PutDraft: {
            /**
             * Format: int64
             * @description The number at the app's icon. By default it does not change.
             */
            badge?: number | null;
            /** @description See title. */
            body?: string | null;
            /** @description 1 to 64 of a-z A-Z 0-9 . _ - A name in common, to count, list, pause, move and cancel messages together. */
            campaign?: string | null;
            /** @description 1 to 64 of a-z 0-9 _ - */
            category?: string | null;
            /** @description Additions for single channels, by the name of the channel: an object of at most 4,096 bytes in the provider's format. They are checked at submit, as is the size of the message for that channel. */
            channels?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            } | null;
            /** @description The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the app, such as myapp://orders/17. javascript:, data: and file: are not allowed. */
            click_url?: string | null;
            /** @description Refuse a local time that clocks skip or show twice, and name the valid ones. By default a skipped time means a later one, as far behind the gap as it would be into it, and a time that is shown twice means the first. */
            clock_strict?: boolean | null;
            /** @description The message replaces an earlier one with the same key on the device: 1 to 64 printable ASCII characters. */
            collapse_key?: string | null;
            /** @description Texts by name, for the app that shows the message. */
            data?: {
                [key: string]: string;
            } | null;
            /** @description RFC 3339, or a local time: a message that is not sent by then is dropped. By default a day after send_at. At most 31 days after the latest send time that is accepted. */
            expires_at?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description Keep the local time, not the instant: when the user's own time zone changes, the message moves to the same local time there, by the rules. Only with a send_at that is a local time in the zone user. A local expires_at in the zone user moves with it. */
            follow_zone?: boolean | null;
            /** @description Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - By default the server generates one. */
            id?: string | null;
            /** @description An https URL of an image to show, of at most 2,048 bytes. */
            image?: string | null;
            /** @description What to do if send_at has passed: refuse the message with in_past; now, send it now if it passed within a day; or a length of time such as 15m, 1s to 7d, send it now if it passed within that. By default what the user's policy says. */
            late?: string | null;
            /** @description Texts of the caller by name: at most 8, with at most 512 bytes of names and texts together. A name is 1 to 64 bytes without control characters. They go to the push target, and stay with the status after the message has ended. */
            metadata?: {
                [key: string]: string;
            } | null;
            /**
             * @description What to do if send_at is not free: refuse the message, or shift it to the next free time. By default what the user's policy says; with send_at now, shift.
             * @enum {string|null}
             */
            on_conflict?: "refuse" | "shift" | "" | null;
            /**
             * @description high if it may wake the device, normal if it may wait until the device is used. By default the channel decides.
             * @enum {string|null}
             */
            priority?: "high" | "normal" | "" | null;
            /** @description The send time: RFC 3339 with zone, cut to the millisecond, or a local time. now means as soon as the rules allow. Required, unless there is a window; beside one it is only for prefer nearest. */
            send_at?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description RFC 3339, or a local time: the last time that a shift may choose. By default a day after send_at. Without on_conflict it applies if the user's policy shifts, and has no effect if the policy refuses. With refuse it is not allowed. */
            shift_until?: (string | Date | null) | components["schemas"]["LocalTime"];
            /** @description The name of a sound of the app's: at most 64 characters without control characters. */
            sound?: string | null;
            /** @description Title, body and data have at most 4,096 bytes together. Title or body is required. */
            title?: string | null;
            /** @description The user's devices that receive it. By default all. */
            to?: components["schemas"]["Target"] | null;
            /** @description The receiver: 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends. */
            user?: string | null;
            /** @description Asks for a free time in a window, instead of a send time. */
            window?: components["schemas"]["WindowDraft"] | null;
        };
        QuietHours: {
            /**
             * Format: date-time
             * @description The begin.
             */
            from: string;
            /** @description The quiet hours as in the policy. */
            hours: string;
            /** @description The IANA time zone of the quiet hours. */
            time_zone: string;
            /**
             * Format: date-time
             * @description The end, which is not included.
             */
            until: string;
        };
        QuotaUsage: {
            /**
             * Format: date-time
             * @description When it began.
             */
            from: string;
            /**
             * Format: int64
             * @description Messages that the tier allows in it; absent if there is no limit.
             */
            limit?: number;
            /**
             * Format: int64
             * @description Messages left; absent if there is no limit.
             */
            remaining?: number;
            /**
             * Format: date-time
             * @description When it ends, and the next one begins with nothing used.
             */
            until: string;
            /**
             * Format: int64
             * @description Messages charged in it so far, by their send times: sent, or still scheduled.
             */
            used: number;
        };
        RefitBaseline: {
            /**
             * Format: int64
             * @description Users with messages that do not fit it.
             */
            misfit_users: number;
            /**
             * Format: int64
             * @description Messages that do not fit it.
             */
            misfits: number;
            /** @description Messages that do not fit it, by the rule that they would break. */
            misfits_by_rule: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description The version of the stored policy.
             */
            version: number;
        };
        /** @description The query of refitPolicy. */
        RefitPolicyQuery: {
            /**
             * @description shift moves each message to its next free time before it expires. cancel cancels it.
             * @enum {string}
             */
            then: "shift" | "cancel";
        };
        RefitProgress: {
            /**
             * @description progress
             * @enum {string}
             */
            outcome: "progress";
            /**
             * Format: int64
             * @description The number of parts of the store.
             */
            partitions: number;
            /**
             * Format: int64
             * @description Parts of the store that are done, including those of an earlier run.
             */
            partitions_done: number;
        };
        RefitSummary: {
            /** @description In a dry run of another policy, the misfits of the stored policy. */
            baseline?: components["schemas"]["RefitBaseline"];
            /**
             * Format: int64
             * @description Messages that were cancelled.
             */
            cancelled?: number;
            /**
             * Format: int64
             * @description The part of the store at which it continued after an earlier run, whose figures it includes.
             */
            first_partition?: number;
            /**
             * Format: int64
             * @description Messages that were sent, moved or cancelled meanwhile.
             */
            gone?: number;
            /**
             * Format: int64
             * @description Messages for which nothing could be done: they are sent as accepted.
             */
            kept?: number;
            /**
             * Format: int64
             * @description Users whose own limit replaces no rule of the policy, and applies beside them.
             */
            limit_users?: number;
            /**
             * Format: int64
             * @description Users with messages that do not fit.
             */
            misfit_users: number;
            /**
             * Format: int64
             * @description Messages that do not fit.
             */
            misfits: number;
            /** @description Messages that do not fit, by the rule that they would break. */
            misfits_by_rule: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Messages that were moved.
             */
            moved?: number;
            /**
             * Format: int64
             * @description The next part of the store. When all are done, the number of parts.
             */
            next_partition: number;
            /**
             * @description dry_run or refitted. The summary is the last line, or the line before an error.
             * @enum {string}
             */
            outcome: "dry_run" | "refitted";
            /** @description The name of the policy. */
            policy: string;
            /**
             * Format: int64
             * @description Their messages that were checked.
             */
            reservations: number;
            /**
             * @description What was done: shift or cancel; absent in a dry run.
             * @enum {string}
             */
            then?: "shift" | "cancel";
            /**
             * Format: int64
             * @description Users that were skipped, since their settings name a policy that does not exist.
             */
            unclear_users?: number;
            /**
             * Format: int64
             * @description Users of the policy with scheduled messages.
             */
            users: number;
            /**
             * Format: int64
             * @description The version of the policy; absent in a dry run.
             */
            version?: number;
        };
        /** @description The query of reopenCampaign. */
        ReopenCampaignQuery: {
            /** @description The account of the campaign; by default the key's own. Another account requires the scope admin. */
            account?: string;
        };
        Report: {
            /**
             * Format: int64
             * @description Submits accepted on that day, for any day.
             */
            accepted: number;
            /**
             * Format: int64
             * @description Messages cancelled on that day.
             */
            cancelled: number;
            /**
             * Format: int64
             * @description Messages dropped on that day, because they expired.
             */
            dropped: number;
            /**
             * Format: int64
             * @description Messages given up on that day, because the provider refused them or they may have arrived. They are dead letters.
             */
            failed: number;
            /**
             * Format: int64
             * @description Messages sent after the tolerance, which sent includes.
             */
            late: number;
            /** @description Submits refused on that day, by rule, or by code if no rule refused them. */
            refused?: {
                [key: string]: number;
            };
            /**
             * Format: int64
             * @description Dead letters retried on that day.
             */
            retried: number;
            /**
             * Format: int64
             * @description Messages sent on that day, late ones included.
             */
            sent: number;
            /**
             * Format: int64
             * @description How many more messages waited at the end of the day than at its begin, negative if fewer. accepted and retried together are the sum of sent, dropped, failed, cancelled and waiting_change.
             */
            waiting_change: number;
        };
        RequestUsage: {
            /**
             * Format: date-time
             * @description When the day began.
             */
            from: string;
            /**
             * Format: int64
             * @description Requests that the tier allows.
             */
            limit: number;
            /**
             * Format: int64
             * @description Requests left.
             */
            remaining: number;
            /**
             * Format: date-time
             * @description When it ends, and the next one begins with nothing used.
             */
            until: string;
            /**
             * Format: int64
             * @description Requests so far.
             */
            used: number;
        };
        RequestsUsage: {
            /** @description All others. */
            change: components["schemas"]["RequestUsage"];
            /** @description Those that read. */
            read: components["schemas"]["RequestUsage"];
            /** @description Those that submit. */
            submit: components["schemas"]["RequestUsage"];
        };
        ResolvedLocal: {
            /** @description The zone that was asked for: user, or an IANA name. */
            asked: string;
            /** @description skipped, if clocks are put forward over the time: then a later time is meant, as far behind the gap as the time would be into it. repeated, if clocks are put back and show it twice: then the first one is meant. Absent if clocks show it once. */
            clock?: string;
            /** @description Whether the message keeps this local time when the user's own zone changes. */
            follow_zone?: boolean;
            /** @description The local time that was asked for. */
            time: string;
            /** @description The IANA name of the zone in which it was read. */
            zone: string;
        };
        ResolvedWindow: {
            /**
             * Format: date-time
             * @description The begin.
             */
            from: string;
            /** @description Which free time of the window the message gets. */
            prefer: Open<"earliest" | "latest" | "nearest" | "spread" | "best">;
            /**
             * Format: date-time
             * @description With nearest, the time that the message is to be near to.
             */
            send_at?: string;
            /**
             * Format: date-time
             * @description The end, which is not included.
             */
            until: string;
        };
        /** @description The query of resumeCampaign. */
        ResumeCampaignQuery: {
            /** @description The account of the campaign; by default the key's own. Another account requires the scope admin. */
            account?: string;
        };
        /** @description The query of retryDeadEvents. */
        RetryDeadEventsQuery: {
            /** @description The account; by default the key's own. Another account requires the scope admin. */
            account?: string;
            /** @description The id of a single dead event to retry. */
            id?: string;
            /** @description Maximum number to retry. */
            limit?: number;
        };
        /** @description The query of retryDeadLetters. */
        RetryDeadLettersQuery: {
            /** @description Only those of this account. */
            account?: string;
            /** @description Only those of this campaign. */
            campaign?: string;
            /** @description The next_cursor of the page before. */
            cursor?: string;
            /** @description Dead letters a request. */
            limit?: number;
            /** @description Only those given up for this reason. */
            reason?: string;
            /** @description Only dead letters to this user. */
            user?: string;
        };
        RuleUsage: {
            /** @description The category whose messages the rule counts; absent if it counts all messages. */
            category?: string;
            /**
             * Format: date-time
             * @description The begin.
             */
            from: string;
            /**
             * @description sliding: counts in every window of the length. calendar: counts in natural periods such as days.
             * @enum {string}
             */
            kind: "sliding" | "calendar";
            /**
             * Format: int64
             * @description How many messages it allows in its window.
             */
            limit: number;
            /** @description The rule, as in the policy. */
            rule: string;
            /**
             * Format: date-time
             * @description The end, which is not included.
             */
            until: string;
            /**
             * Format: int64
             * @description How many messages are in the window.
             */
            used: number;
            /**
             * Format: int64
             * @description The length of a sliding rule's window.
             */
            window_seconds?: number;
        };
        SecretRotation: {
            /** @description How long the old secret signs too, such as 1h or 7d: by default 1d, at most 366d. 0 ends it at once. */
            overlap?: string | null;
        };
        Sending: {
            /** @description Who stopped it. */
            by?: string;
            /** @description Why it is stopped, in the words of who stopped it. */
            reason?: string;
            /**
             * Format: date-time
             * @description Since when it is stopped, by the store's clock.
             */
            since?: string;
            /** @description running; or stopped by an operator, while accepted messages wait. */
            state: string;
        };
        SendingChange: {
            /** @description Who stopped it. */
            by?: string;
            /** @description stopped, already_stopped, started or already_running. The already ones changed nothing: an earlier stop keeps its reason. */
            outcome: Open<"accepted" | "replaced" | "cancelled" | "moved" | "changed" | "recorded" | "retried" | "purged" | "refused" | "invalid" | "error">;
            /** @description Why it is stopped, in the words of who stopped it. */
            reason?: string;
            /**
             * Format: date-time
             * @description Since when it is stopped, by the store's clock.
             */
            since?: string;
            /** @description running; or stopped by an operator, while accepted messages wait. */
            state: string;
        };
        SendingStopDraft: {
            /** @description Why: 1 to 500 bytes of UTF-8 without control characters. Operators see it on every page of the dashboard, and in the audit log. */
            reason: string;
        };
        Session: {
            /** @description The account that has logged in. */
            account: string;
            /** @description The address of the client; absent if unknown. */
            address?: string;
            /**
             * Format: date-time
             * @description When it began.
             */
            began: string;
            /**
             * Format: date-time
             * @description When it ends, unless its key is removed before.
             */
            ends: string;
            /** @description The session's id, which is not secret. */
            id: string;
            /** @description The id of its key. */
            key: string;
        };
        SessionEnd: {
            /** @description ended */
            outcome: Open<"accepted" | "replaced" | "cancelled" | "moved" | "changed" | "recorded" | "retried" | "purged" | "refused" | "invalid" | "error">;
            /** @description Its id. */
            session: string;
        };
        Sessions: {
            /** @description By their end, the first one first. */
            sessions: components["schemas"]["Session"][];
        };
        /** @description The query of setPace. */
        SetPaceQuery: {
            /**
             * @description The channel of the pace. By default the pace is for all messages together.
             * @enum {string}
             */
            channel?: "log" | "webhook" | "fcm" | "apns" | "webpush" | "service";
        };
        SettingsDraft: {
            /** @description How well each hour of the week suits the user: 168 weights from 0 to 1000, from Monday 00:00 on, by the clocks of the user's time zone. Windows with prefer best draw send times in their ratio. Where all are 0, all hours suit alike. */
            best_hours?: number[] | null;
            /** @description Whether no more messages are accepted for the user. Scheduled ones are dropped at their send times. */
            blocked?: boolean | null;
            /** @description Rules of single categories, by name. They replace the category's rules with the same windows, or apply beside them. */
            categories?: {
                [key: string]: string[] | null;
            } | null;
            /** @description Where alerts about full daily rules go: an e-mail address or an https: URL. */
            contact?: string | null;
            /** @description Before this time nothing is sent to the user, except messages of exempt categories. Messages for earlier times are refused or shifted; scheduled ones are sent afterwards, as late ones. */
            do_not_disturb_until?: string | Date | null;
            /** @description Changes nothing, and lists the scheduled messages that would not fit. */
            dry_run?: boolean | null;
            /** @description Rules that replace the policy's rules with the same windows: 20/calendar_day replaces 10/calendar_day. */
            limits?: string[] | null;
            /** @description Categories that the user does not want; all stands for everything but exempt categories. Their messages are refused, and scheduled ones are dropped at their send time. */
            opt_out?: string[] | null;
            /** @description The name of an existing policy, instead of default. */
            policy?: string | null;
            /** @description Quiet hours of the user, beside those of the policy. Scheduled messages whose times lie in them are sent afterwards, as late ones. */
            quiet_hours?: string[] | null;
            /**
             * @description What becomes of scheduled messages that do not fit the new settings: keep sends them at their times, also in quiet hours of the user; shift moves each to its next free time, and drops it if none is free before it expires; drop drops them. If absent, they stay, and wait at their times for the end of the user's quiet hours.
             * @enum {string|null}
             */
            then?: "keep" | "shift" | "drop" | "" | null;
            /** @description An IANA time zone, for quiet hours, and for calendar rules if the policy says so. */
            time_zone?: string | null;
        };
        SettingsPatch: {
            /** @description The 168 weights of the hours of the week, from Monday 00:00 on. */
            best_hours?: number[] | null;
            /** @description Whether no more messages are accepted. */
            blocked?: boolean | null;
            /** @description All own rules of categories. */
            categories?: {
                [key: string]: string[] | null;
            } | null;
            /** @description An e-mail address or an https: URL. */
            contact?: string | null;
            /** @description The time before which nothing is sent to the user, except messages of exempt categories. */
            do_not_disturb_until?: string | Date | null;
            /** @description Changes nothing, and lists the scheduled messages that would not fit. */
            dry_run?: boolean | null;
            /** @description All rules of the user's own. */
            limits?: string[] | null;
            /** @description All categories that the user does not want; all stands for everything but exempt categories. */
            opt_out?: string[] | null;
            /** @description The name of an existing policy. */
            policy?: string | null;
            /** @description All quiet hours of the user. */
            quiet_hours?: string[] | null;
            /**
             * @description What becomes of scheduled messages that do not fit the new settings: keep sends them at their times, also in quiet hours of the user; shift moves each to its next free time, and drops it if none is free before it expires; drop drops them. If absent, they stay, and wait at their times for the end of the user's quiet hours.
             * @enum {string|null}
             */
            then?: "keep" | "shift" | "drop" | "" | null;
            /** @description An IANA time zone. */
            time_zone?: string | null;
        };
        Stats: {
            /**
             * Format: int64
             * @description Messages that were given up. It may include a few that are none any more.
             */
            dead_letters: number;
            /**
             * Format: int64
             * @description Quota alerts and reports that were given up.
             */
            failed_alerts: number;
            /**
             * Format: double
             * @description Seconds since the oldest entry of the schedule was due to be handed over to the queue, or to be checked; 0 for none. More than half the horizon means that messages may be late.
             */
            oldest_overdue_seconds: number;
            /**
             * Format: int64
             * @description Messages that have not ended, in the schedule and in the queue.
             */
            pending: number;
            /** @description Tasks in the queue by state: scheduled, pending, active, retry and archived. A message is in the queue when it is due soon. */
            queue: {
                [key: string]: number;
            };
            /** @description The store's servers that report their memory. */
            store: components["schemas"]["StoreMemory"][];
            /** @description The version of the program that answers. */
            version: string;
        };
        Status: {
            /** @description The account that is charged for the message; absent without accounts. */
            account?: string;
            /**
             * Format: int64
             * @description The number of delivery attempts.
             */
            attempts?: number;
            /**
             * Format: int64
             * @description The number at the app's icon. By default it does not change.
             */
            badge?: number;
            /** @description Its body; absent for the same reasons as title. */
            body?: string;
            /** @description Its campaign. */
            campaign?: string;
            /** @description Its category. */
            category?: string;
            /** @description Additions for single channels, by the name of the channel: an object of at most 4,096 bytes in the provider's format. They are checked at submit, as is the size of the message for that channel. */
            channels?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
            /** @description The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the app, such as myapp://orders/17. javascript:, data: and file: are not allowed. */
            click_url?: string;
            /** @description The message replaces an earlier one with the same key on the device: 1 to 64 printable ASCII characters. */
            collapse_key?: string;
            /** @description Its data; absent for the same reasons as title. */
            data?: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description When its delivery began.
             */
            delivered_at?: string;
            /** @description The devices for which the message has ended; absent before. */
            devices?: components["schemas"]["DeviceStatus"][];
            /**
             * Format: date-time
             * @description When the message ended without being delivered.
             */
            ended_at?: string;
            /**
             * Format: date-time
             * @description A message that is not sent by then is dropped.
             */
            expires_at?: string;
            /** @description The last changes of the message, including its accept and its end, at most 16, oldest first; absent in lists. A running delivery is not a change. */
            history?: components["schemas"]["HistoryEntry"][];
            /** @description The message's id. */
            id: string;
            /** @description An https URL of an image to show, of at most 2,048 bytes. */
            image?: string;
            /**
             * Format: int64
             * @description Milliseconds from the promised time to delivered_at.
             */
            lateness_ms?: number;
            /** @description How the send time was read, if it was last asked for as a local time. */
            local?: components["schemas"]["ResolvedLocal"];
            /** @description Its metadata. */
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description The send time before the last move.
             */
            moved_from?: string;
            /**
             * Format: date-time
             * @description When a failed delivery is retried; or when a message is checked again that waits for its paused campaign, for a dated change of its policy, or for a free time because it may have arrived.
             */
            next_try_at?: string;
            /** @description high if it may wake the device, normal if it may wait until the device is used. By default the channel decides. */
            priority?: Open<"high" | "normal">;
            /**
             * Format: date-time
             * @description The send time before the message was postponed or sent late, if it differs from send_at.
             */
            promised_at?: string;
            /** @description The provider's id of the message. */
            provider_id?: string;
            /** @description The provider's answer to a message that was given up. */
            provider_said?: string;
            /** @description Why the message was dropped, given up or postponed, or why it is retried. For a postponed message it has the rule: late: 1/minute was in the way. For a dropped one it is expired, no_free_time, blocked, opted_out or no_device. For a delivered one it says why other devices were given up. */
            reason?: string;
            /**
             * Format: date-time
             * @description The send time that was requested, if it differs from send_at.
             */
            requested_at?: string;
            /**
             * Format: date-time
             * @description The send time.
             */
            send_at: string;
            /** @description The message got the next free time instead of the requested one. */
            shifted?: boolean;
            /** @description The name of a sound of the app's: at most 64 characters without control characters. */
            sound?: string;
            /** @description The state of the message. */
            status: Open<"scheduled" | "postponed" | "moved" | "sending" | "delivered" | "dropped" | "failed" | "uncertain" | "cancelled">;
            /** @description Its title; absent in lists, after it was erased, and for keys without access. */
            title?: string;
            /** @description The user's devices that receive it. By default all. */
            to?: components["schemas"]["MessageTarget"];
            /** @description Whether an earlier attempt may have arrived. */
            uncertain?: boolean;
            /** @description The user's name. */
            user: string;
            /** @description The window that the submit asked for; absent after a move. */
            window?: components["schemas"]["ResolvedWindow"];
        };
        StoreMemory: {
            /**
             * Format: int64
             * @description Its limit; absent if it has none.
             */
            max_bytes?: number;
            /** @description Its address; empty if there is only one server. */
            server: string;
            /**
             * Format: int64
             * @description Memory in use that counts towards the limit.
             */
            used_bytes: number;
        };
        Stretch: {
            /**
             * Format: date-time
             * @description The begin.
             */
            from: string;
            /**
             * Format: date-time
             * @description The end, which is not included.
             */
            until: string;
        };
        /** @description The query of submitBatch. */
        SubmitBatchQuery: {
            /** @description true omits next_free_at and previous_free_at from refusals, which makes a batch with many refusals faster. Refusals of messages with on_conflict shift still have them. */
            without_free_times?: boolean;
        };
        Target: {
            /** @description The app of the devices. */
            app?: string | null;
            /**
             * @description The channel of the devices, or a channel without devices as a whole.
             * @enum {string|null}
             */
            channel?: "fcm" | "apns" | "webpush" | "webhook" | "log" | "service" | "" | null;
            /** @description The id of one device. */
            device?: string | null;
        };
        Tier: {
            /** @description Percents of messages_per_day at which the account's contact is alerted; by default 80 and 100, empty is never. */
            alert_at?: number[];
            /**
             * Format: int64
             * @description Devices that an account may have registered at a time, of all users; 0 is no limit. An account that has more keeps them, and registers no others.
             */
            devices?: number;
            /**
             * Format: int64
             * @description Lines of batches in a minute, over all batches of the account; 0 is no limit. A bucket of as many lines fills evenly, and a batch waits for it.
             */
            lines_per_minute?: number;
            /**
             * Format: int64
             * @description Messages to be sent in each natural day of the account's time zone; 0 is no limit.
             */
            messages_per_day?: number;
            /**
             * Format: int64
             * @description Messages to be sent in each natural hour of the account's time zone; 0 is no limit.
             */
            messages_per_hour?: number;
            /** @description 1 to 64 of a-z 0-9 _ - */
            name: string;
            /**
             * Format: int64
             * @description Requests in each natural day in UTC, in the same three counters; 0 is no limit. If the event that a request counts as has a time zone, the day is that zone's.
             */
            requests_per_day?: number;
            /**
             * Format: int64
             * @description Requests in each natural minute, in three separate counters: those that submit, those that read, and all others; 0 is no limit.
             */
            requests_per_minute?: number;
        };
        TierLimits: {
            /** @description Percents of messages_per_day at which the account's contact is alerted; by default 80 and 100, empty is never. */
            alert_at?: number[] | null;
            /**
             * Format: int64
             * @description Devices that an account may have registered at a time, of all users; 0 is no limit. An account that has more keeps them, and registers no others.
             */
            devices?: number | null;
            /**
             * Format: int64
             * @description Lines of batches in a minute, over all batches of the account; 0 is no limit. A bucket of as many lines fills evenly, and a batch waits for it.
             */
            lines_per_minute?: number | null;
            /**
             * Format: int64
             * @description Messages to be sent in each natural day of the account's time zone; 0 is no limit.
             */
            messages_per_day?: number | null;
            /**
             * Format: int64
             * @description Messages to be sent in each natural hour of the account's time zone; 0 is no limit.
             */
            messages_per_hour?: number | null;
            /**
             * Format: int64
             * @description Requests in each natural day in UTC, in the same three counters; 0 is no limit. If the event that a request counts as has a time zone, the day is that zone's.
             */
            requests_per_day?: number | null;
            /**
             * Format: int64
             * @description Requests in each natural minute, in three separate counters: those that submit, those that read, and all others; 0 is no limit.
             */
            requests_per_minute?: number | null;
        };
        TierRemoval: {
            /** @description removed */
            outcome: Open<"removed">;
            /** @description The name of the tier. */
            tier: string;
        };
        Tiers: {
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
            /** @description By name. */
            tiers: components["schemas"]["Tier"][];
        };
        Usage: {
            /**
             * Format: date-time
             * @description The time of the usage.
             */
            at: string;
            /** @description The user is blocked, so no time is free; absent if the user is not blocked. */
            blocked?: boolean;
            /** @description Times in which a message would be accepted. */
            free: components["schemas"]["Stretch"][];
            /**
             * Format: date-time
             * @description The begin.
             */
            from: string;
            /** @description There are more messages than listed in sends. */
            more?: boolean;
            /** @description The user does not want the category, so no time is free; absent if the user wants it. */
            opted_out?: boolean;
            /** @description Quiet hours in the timeline; absent if there are none. */
            quiet?: components["schemas"]["Stretch"][];
            /** @description How full each rule is. */
            rules: components["schemas"]["RuleUsage"][];
            /** @description Sent and scheduled messages, by time. */
            sends: components["schemas"]["Conflict"][];
            /**
             * Format: date-time
             * @description The end of the timeline, which is not included.
             */
            until: string;
            /** @description The user's name. */
            user: string;
        };
        UserEntry: {
            /** @description The token of the dry run that died before it removed this copy; absent for real data. */
            dry_run?: string;
            /** @description The entry, as in that list. */
            entry: {
                [key: string]: unknown;
            };
            /** @description The list of the entry. */
            list: string;
            /**
             * @description entry
             * @enum {string}
             */
            outcome: "entry";
        };
        UserErasure: {
            /**
             * Format: int64
             * @description Of these, messages that were not sent yet.
             */
            cancelled: number;
            /**
             * Format: int64
             * @description Entries that were removed from lists of all users.
             */
            entries: number;
            /**
             * Format: int64
             * @description Keys that were removed from the store.
             */
            keys: number;
            /**
             * Format: int64
             * @description Messages with a record.
             */
            messages: number;
            /**
             * @description erased
             * @enum {string}
             */
            outcome: "erased";
            /**
             * Format: int64
             * @description Tasks that a worker is running, or was running when it died. The queue has the user's name until they end. If there are any, erase the user again in a few minutes.
             */
            running: number;
            /**
             * Format: int64
             * @description Tasks that were removed from the queue.
             */
            tasks: number;
            /** @description The user's name. */
            user: string;
        };
        UserExport: {
            /**
             * Format: int64
             * @description The number of entries in the lines before.
             */
            entries: number;
            /**
             * Format: date-time
             * @description When it was read, by the clock of this server.
             */
            exported_at: string;
            /**
             * @description exported
             * @enum {string}
             */
            outcome: "exported";
            /** @description The user's name. */
            user: string;
        };
        UserProgress: {
            /**
             * Format: int64
             * @description Keys of the store that were checked.
             */
            done: number;
            /**
             * @description progress
             * @enum {string}
             */
            outcome: "progress";
            /**
             * Format: int64
             * @description The total number of keys, about.
             */
            total: number;
        };
        UserQuota: {
            /** @description The day, such as 2026-11-22. */
            day: string;
            /**
             * Format: int64
             * @description Messages that the daily rule allows.
             */
            limit: number;
            /**
             * Format: int64
             * @description The percentage of limit that was reached.
             */
            threshold: number;
            /**
             * Format: int64
             * @description Messages of that day when the threshold was reached.
             */
            used: number;
            /** @description The user's name. */
            user: string;
        };
        UserSettings: {
            /** @description The 168 weights of the hours of the week, from Monday 00:00 on; absent for none. */
            best_hours?: number[];
            /** @description Whether no more messages are accepted for the user. */
            blocked: boolean;
            /** @description The user's own rules of categories, by name. They replace the rules of the category with the same windows; others apply beside those. */
            categories: {
                [key: string]: string[] | null;
            };
            /** @description The contact that is alerted when a daily rule is full; empty for none. */
            contact: string;
            /**
             * Format: date-time
             * @description The time before which nothing is sent to the user, except messages of exempt categories; absent for none.
             */
            do_not_disturb_until?: string;
            /** @description The rules that apply to the user. null if the policy does not exist: then no message is accepted. */
            effective: components["schemas"]["EffectiveRules"] | null;
            /** @description Rules that replace the policy's rules with the same windows. */
            limits: string[];
            /** @description Categories that the user does not want; all stands for everything but exempt categories. Their messages are refused, and scheduled ones are dropped at their send time. */
            opt_out: string[];
            /** @description The name of the user's policy; empty for default. */
            policy: string;
            /** @description The user's own quiet hours, beside those of the policy. */
            quiet_hours: string[];
            /** @description What becomes of scheduled messages; absent if no change asked for it and none is affected. */
            scheduled?: components["schemas"]["FollowThrough"];
            /** @description The user's IANA time zone; empty for the policy's. */
            time_zone: string;
            /** @description The user's name. */
            user: string;
        };
        Users: {
            /** @description The cursor of the next page; absent if there are no more. The next page may be empty. */
            next_cursor?: string;
            /** @description In the order of the store, which does not change. */
            users: components["schemas"]["ListedUser"][];
        };
        Violation: {
            /**
             * Format: int64
             * @description How many of these one account may have by the policy's account_share. Set if the message's account has reached it.
             */
            account_limit?: number;
            /** @description The category whose messages the rule counts; absent if it counts all messages. */
            category?: string;
            /** @description Messages in the way, by time, at most 10. */
            conflicts: components["schemas"]["Conflict"][];
            /**
             * Format: int64
             * @description How many messages are in the way.
             */
            conflicts_total: number;
            /**
             * Format: date-time
             * @description The begin.
             */
            from?: string;
            /**
             * @description sliding: counts in every window of the length. calendar: counts in natural periods such as days.
             * @enum {string}
             */
            kind: "sliding" | "calendar";
            /**
             * Format: int64
             * @description How many messages it allows in its window.
             */
            limit: number;
            /** @description The rule, as in the policy. */
            rule: string;
            /**
             * Format: date-time
             * @description The end, which is not included.
             */
            until?: string;
            /**
             * Format: int64
             * @description The length of a sliding rule's window.
             */
            window_seconds?: number;
        };
        WindowDraft: {
            /** @description The begin: RFC 3339, a local time, or now, which is the default. */
            from?: (string | Date | null) | components["schemas"]["LocalTime"];
            /**
             * @description Which free time of the window the message gets. earliest, the default: the first one. latest: the last one. nearest: the one nearest to send_at; of two, the earlier. spread: the first one from a time on that is drawn over the whole window by account, user and id, else the first one, so that many messages fill a window evenly. best: as spread, but drawn by the best_hours of the user.
             * @enum {string|null}
             */
            prefer?: "earliest" | "latest" | "nearest" | "spread" | "best" | "" | null;
            /** @description The end, which is not included: RFC 3339, or a local time. The expiry of the message and the latest send time that is accepted end the window, too. */
            until: (string | Date) | components["schemas"]["LocalTime"];
        };
        WindowEnd: {
            /** @description Why it is not free. */
            code: components["schemas"]["Code"];
            /**
             * Format: date-time
             * @description The time before which the user is not disturbed, with the code do_not_disturb.
             */
            do_not_disturb_until?: string;
            /** @description The quiet hours that contain it, with the code quiet_hours. */
            quiet_hours?: components["schemas"]["QuietHours"];
            /**
             * Format: date-time
             * @description The last time of the window at which the message could be sent.
             */
            send_at: string;
            /** @description Every rule that a message at that time would break. */
            violations?: components["schemas"]["Violation"][];
        };
        Worker: {
            /**
             * Format: int64
             * @description Running tasks. A task may have several messages.
             */
            active: number;
            /** @description The name of its machine. */
            host: string;
            /**
             * Format: int64
             * @description The id of its process.
             */
            pid: number;
            /**
             * Format: date-time
             * @description When it started.
             */
            started_at: string;
            /** @description active, or stopped while it shuts down. */
            status: Open<"scheduled" | "postponed" | "moved" | "sending" | "delivered" | "dropped" | "failed" | "uncertain" | "cancelled">;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Account = components['schemas']['Account'];
export type AccountDetails = components['schemas']['AccountDetails'];
export type AccountDraft = components['schemas']['AccountDraft'];
export type AccountPatch = components['schemas']['AccountPatch'];
export type AccountUsage = components['schemas']['AccountUsage'];
export type Accounts = components['schemas']['Accounts'];
export type Activity = components['schemas']['Activity'];
export type ActivityMinute = components['schemas']['ActivityMinute'];
export type AlertDone = components['schemas']['AlertDone'];
export type AuditEntries = components['schemas']['AuditEntries'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type Callback = components['schemas']['Callback'];
export type CallbackDraft = components['schemas']['CallbackDraft'];
export type CampaignMoveDraft = components['schemas']['CampaignMoveDraft'];
export type CampaignProgress = components['schemas']['CampaignProgress'];
export type CampaignStatus = components['schemas']['CampaignStatus'];
export type CampaignSummary = components['schemas']['CampaignSummary'];
export type CancelCampaignQuery = components['schemas']['CancelCampaignQuery'];
export type Category = components['schemas']['Category'];
export type CategoryDocument = components['schemas']['CategoryDocument'];
export type CategoryQuiet = components['schemas']['CategoryQuiet'];
export type Change = components['schemas']['Change'];
export type ChangeDocument = components['schemas']['ChangeDocument'];
export type Channel = components['schemas']['Channel'];
export type ChannelResume = components['schemas']['ChannelResume'];
export type ChannelWave = components['schemas']['ChannelWave'];
export type Channels = components['schemas']['Channels'];
export type CheckBatchQuery = components['schemas']['CheckBatchQuery'];
export type CheckMessageQuery = components['schemas']['CheckMessageQuery'];
export type ClearPaceQuery = components['schemas']['ClearPaceQuery'];
export type Code = components['schemas']['Code'];
export type Conflict = components['schemas']['Conflict'];
export type CountCampaignQuery = components['schemas']['CountCampaignQuery'];
export type DeadAlert = components['schemas']['DeadAlert'];
export type DeadAlerts = components['schemas']['DeadAlerts'];
export type DeadEvent = components['schemas']['DeadEvent'];
export type DeadEvents = components['schemas']['DeadEvents'];
export type DeadEventsPurge = components['schemas']['DeadEventsPurge'];
export type DeadEventsRetry = components['schemas']['DeadEventsRetry'];
export type DeadLetters = components['schemas']['DeadLetters'];
export type DeadPurge = components['schemas']['DeadPurge'];
export type DeadRetry = components['schemas']['DeadRetry'];
export type Delivery = components['schemas']['Delivery'];
export type Device = components['schemas']['Device'];
export type DeviceChange = components['schemas']['DeviceChange'];
export type DeviceDraft = components['schemas']['DeviceDraft'];
export type DeviceRemoval = components['schemas']['DeviceRemoval'];
export type DeviceStatus = components['schemas']['DeviceStatus'];
export type Devices = components['schemas']['Devices'];
export type DevicesUsage = components['schemas']['DevicesUsage'];
export type Draft = components['schemas']['Draft'];
export type EffectiveRule = components['schemas']['EffectiveRule'];
export type EffectiveRules = components['schemas']['EffectiveRules'];
export type EraseUserQuery = components['schemas']['EraseUserQuery'];
export type Event = components['schemas']['Event'];
export type EventData = components['schemas']['EventData'];
export type EventLimits = components['schemas']['EventLimits'];
export type EventLimitsDraft = components['schemas']['EventLimitsDraft'];
export type EventLimitsList = components['schemas']['EventLimitsList'];
export type EventLimitsRemoval = components['schemas']['EventLimitsRemoval'];
export type Events = components['schemas']['Events'];
export type ExemptCategory = components['schemas']['ExemptCategory'];
export type FindMessageQuery = components['schemas']['FindMessageQuery'];
export type FindMessagesQuery = components['schemas']['FindMessagesQuery'];
export type FollowEventsQuery = components['schemas']['FollowEventsQuery'];
export type FollowThrough = components['schemas']['FollowThrough'];
export type Forecast = components['schemas']['Forecast'];
export type Found = components['schemas']['Found'];
export type FreeTime = components['schemas']['FreeTime'];
export type FreeTimes = components['schemas']['FreeTimes'];
export type GetDeadLetterQuery = components['schemas']['GetDeadLetterQuery'];
export type GetNextFreeQuery = components['schemas']['GetNextFreeQuery'];
export type GetPaceQuery = components['schemas']['GetPaceQuery'];
export type GetUsageQuery = components['schemas']['GetUsageQuery'];
export type HistoryEntry = components['schemas']['HistoryEntry'];
export type HourCount = components['schemas']['HourCount'];
export type Key = components['schemas']['Key'];
export type KeyDraft = components['schemas']['KeyDraft'];
export type KeyRotation = components['schemas']['KeyRotation'];
export type LearnedPace = components['schemas']['LearnedPace'];
export type ListAccountsQuery = components['schemas']['ListAccountsQuery'];
export type ListAuditEntriesQuery = components['schemas']['ListAuditEntriesQuery'];
export type ListDeadAlertsQuery = components['schemas']['ListDeadAlertsQuery'];
export type ListDeadEventsQuery = components['schemas']['ListDeadEventsQuery'];
export type ListDeadLettersQuery = components['schemas']['ListDeadLettersQuery'];
export type ListEventLimitsQuery = components['schemas']['ListEventLimitsQuery'];
export type ListMessagesQuery = components['schemas']['ListMessagesQuery'];
export type ListPoliciesQuery = components['schemas']['ListPoliciesQuery'];
export type ListTiersQuery = components['schemas']['ListTiersQuery'];
export type ListUsersQuery = components['schemas']['ListUsersQuery'];
export type ListedUser = components['schemas']['ListedUser'];
export type LocalTime = components['schemas']['LocalTime'];
export type MessageTarget = components['schemas']['MessageTarget'];
export type Messages = components['schemas']['Messages'];
export type Misfit = components['schemas']['Misfit'];
export type MoveCampaignQuery = components['schemas']['MoveCampaignQuery'];
export type MoveDraft = components['schemas']['MoveDraft'];
export type NewKey = components['schemas']['NewKey'];
export type Notice = components['schemas']['Notice'];
export type Outcome = components['schemas']['Outcome'];
export type Overview = components['schemas']['Overview'];
export type Pace = components['schemas']['Pace'];
export type PaceDraft = components['schemas']['PaceDraft'];
export type PauseCampaignQuery = components['schemas']['PauseCampaignQuery'];
export type Policies = components['schemas']['Policies'];
export type Policy = components['schemas']['Policy'];
export type PolicyChange = components['schemas']['PolicyChange'];
export type PolicyDeletion = components['schemas']['PolicyDeletion'];
export type PolicyDocument = components['schemas']['PolicyDocument'];
export type PolicyRollback = components['schemas']['PolicyRollback'];
export type PolicyVersion = components['schemas']['PolicyVersion'];
export type PolicyVersions = components['schemas']['PolicyVersions'];
export type Problem = components['schemas']['Problem'];
export type PurgeDeadAlertsQuery = components['schemas']['PurgeDeadAlertsQuery'];
export type PurgeDeadEventsQuery = components['schemas']['PurgeDeadEventsQuery'];
export type PurgeDeadLettersQuery = components['schemas']['PurgeDeadLettersQuery'];
export type PutDraft = components['schemas']['PutDraft'];
export type QuietHours = components['schemas']['QuietHours'];
export type QuotaUsage = components['schemas']['QuotaUsage'];
export type RefitBaseline = components['schemas']['RefitBaseline'];
export type RefitPolicyQuery = components['schemas']['RefitPolicyQuery'];
export type RefitProgress = components['schemas']['RefitProgress'];
export type RefitSummary = components['schemas']['RefitSummary'];
export type ReopenCampaignQuery = components['schemas']['ReopenCampaignQuery'];
export type Report = components['schemas']['Report'];
export type RequestUsage = components['schemas']['RequestUsage'];
export type RequestsUsage = components['schemas']['RequestsUsage'];
export type ResolvedLocal = components['schemas']['ResolvedLocal'];
export type ResolvedWindow = components['schemas']['ResolvedWindow'];
export type ResumeCampaignQuery = components['schemas']['ResumeCampaignQuery'];
export type RetryDeadEventsQuery = components['schemas']['RetryDeadEventsQuery'];
export type RetryDeadLettersQuery = components['schemas']['RetryDeadLettersQuery'];
export type RuleUsage = components['schemas']['RuleUsage'];
export type SecretRotation = components['schemas']['SecretRotation'];
export type Sending = components['schemas']['Sending'];
export type SendingChange = components['schemas']['SendingChange'];
export type SendingStopDraft = components['schemas']['SendingStopDraft'];
export type Session = components['schemas']['Session'];
export type SessionEnd = components['schemas']['SessionEnd'];
export type Sessions = components['schemas']['Sessions'];
export type SetPaceQuery = components['schemas']['SetPaceQuery'];
export type SettingsDraft = components['schemas']['SettingsDraft'];
export type SettingsPatch = components['schemas']['SettingsPatch'];
export type Stats = components['schemas']['Stats'];
export type Status = components['schemas']['Status'];
export type StoreMemory = components['schemas']['StoreMemory'];
export type Stretch = components['schemas']['Stretch'];
export type SubmitBatchQuery = components['schemas']['SubmitBatchQuery'];
export type Target = components['schemas']['Target'];
export type Tier = components['schemas']['Tier'];
export type TierLimits = components['schemas']['TierLimits'];
export type TierRemoval = components['schemas']['TierRemoval'];
export type Tiers = components['schemas']['Tiers'];
export type Usage = components['schemas']['Usage'];
export type UserEntry = components['schemas']['UserEntry'];
export type UserErasure = components['schemas']['UserErasure'];
export type UserExport = components['schemas']['UserExport'];
export type UserProgress = components['schemas']['UserProgress'];
export type UserQuota = components['schemas']['UserQuota'];
export type UserSettings = components['schemas']['UserSettings'];
export type Users = components['schemas']['Users'];
export type Violation = components['schemas']['Violation'];
export type WindowDraft = components['schemas']['WindowDraft'];
export type WindowEnd = components['schemas']['WindowEnd'];
export type Worker = components['schemas']['Worker'];
