"""Acknowledgements in English and Chinese."""

# ruff: noqa: E501  (tables of phrases)

ENGLISH = """thanks|Thanks!|thank you|Thank you so much!!|thx|ty|ok|OK.|okay|okay, thanks|k|kk|great|Great!|great, thanks
perfect|Perfect, thank you|awesome|cool|cool cool|nice|nice one|good|good job|well done|sounds good|Sounds good to me|looks good
lgtm|LGTM!|makes sense|got it|Got it, thanks!|understood|I see|i see, thanks|right|exactly|agreed|yes|yes please|yes, please.|yep
yeah|yup|sure|Sure thing|of course|absolutely|go on|go ahead|Go ahead!|please go on|continue|Continue.|please continue|keep going
proceed|please proceed|carry on|do it|yes do it|ok do it|ok, go on|no|no thanks|No, thank you.|nope|no problem|no worries
that's all|That's all, thanks|that is all, thank you|that works|it works|it works now|it works now, thanks!|wow|hmm|oh ok|ah, I see
bye|goodbye|have a nice day|you're right|you are right, thanks|Thanks a lot 🙏|👍|👍👍|🎉 great|ok 👌|...|:)|thaaanks|soooo good
very helpful, thank you|Much appreciated|cheers|noted|Noted, thanks|roger that|alright then|fine|fair enough""".replace(
    "\n", "|"
).split("|")
CHINESE = """好的|好|好的。|好的，谢谢|谢谢|谢谢！|谢谢你|谢谢您|多谢|非常感谢|感谢|太感谢了|辛苦了|嗯|嗯嗯|嗯，好的|哦|哦，明白了|明白|明白了，谢谢
知道了|我知道了|了解|了解了|收到|收到，谢谢|继续|请继续|继续吧|好的，继续|好的 请继续|可以|可以的|可以，继续|行|行吧|没问题|没问题，谢谢|对|对的
对，没错|是的|是的，谢谢|不用了|不用了，谢谢|没有了|没有了，谢谢|就这样|先这样吧|好的，就这样吧|再见|拜拜|谢谢，再见|好的👌|👍谢谢|太好了
太棒了！|很好|很好，继续|非常好|不错|挺好的|完美|厉害|同意|确认|当然可以|原来如此|有道理|ok|OK，继续|ok的""".replace(
    "\n", "|"
).split("|")
